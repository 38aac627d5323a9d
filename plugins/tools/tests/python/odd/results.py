"""A tool whose results and failures are of every kind."""

import array
import asyncio
import collections
import datetime
import decimal
import itertools
import os
import sys
import types

from mas.runtime.contracts import ToolContract


class Unshowable(Exception):
    def __str__(self):
        sys.exit("while it is shown")


class Opaque:
    def __str__(self):
        return "opaque"


class Endless(collections.abc.Sequence):
    def __len__(self):
        return sys.maxsize

    def __getitem__(self, at):
        return at


class Results(ToolContract):
    def list_tools(self):
        own = [name for name in vars(Results) if name.startswith("give_")]
        return [{"name": name[5:], "description": name, "parameters": {}} for name in own]

    def call_tool(self, tool_name, arguments):
        return getattr(self, "give_" + tool_name)()

    def give_generator(self):
        yield 1
        yield {"two": 2}

    async def give_coroutine(self):
        await asyncio.sleep(0)
        return [datetime.date(2026, 1, 2), decimal.Decimal("1.50")]

    async def give_stream(self):
        for part in ("a", "b"):
            await asyncio.sleep(0)
            yield part

    async def give_generator_later(self):
        return (at for at in range(2))

    def give_views(self):
        table = {"a": 1}
        return [table.keys(), table.values(), range(2), collections.deque([3])]

    def give_mapping(self):
        return types.MappingProxyType({"a": collections.ChainMap({"b": 1})})

    def give_arrays(self):
        return [array.array("i", [1, 2]), memoryview(b"raw"), bytearray(b"\xff\xd8")]

    def give_opaque(self):
        return {"it": Opaque()}

    def give_not_a_number(self):
        return {"it": float("nan")}

    def give_bad_keys(self):
        return {(1, 2): 3}

    def give_deep(self):
        nested = []
        for _ in range(100000):
            nested = [nested]
        return nested

    def give_endless(self):
        return itertools.count()

    async def give_endless_stream(self):
        while True:
            yield 1

    def give_endless_sequence(self):
        return Endless()

    def give_late_failure(self):
        yield 1
        raise ValueError("half way")

    def give_unshowable(self):
        raise Unshowable()

    async def give_exit_later(self):
        sys.exit("enough")


    def give_interrupt(self):
        raise KeyboardInterrupt()

    def give_line(self):
        return input("your name? ")

    def give_closed(self):
        os.closerange(3, 256)
        return "never"
