from mas.runtime.contracts import MemoryContract
