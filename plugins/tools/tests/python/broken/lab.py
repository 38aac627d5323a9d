from mas.library.standard.plugins import memory
