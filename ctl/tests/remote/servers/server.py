"""An agent of a2a-sdk 1.x over every binding, in both versions; it says its address, each text that it is given, and `cancelled`."""

import asyncio
import socket

import a2a.compat.v0_3.a2a_v0_3_pb2_grpc as old_grpc
import a2a.types.a2a_pb2_grpc as grpc_of
import grpc.aio
import uvicorn
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message, Part, Role, Task
from a2a.types import TaskState, TaskStatus
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Value
from starlette.applications import Starlette


class Agent(AgentExecutor):
    async def cancel(self, context, events):
        await TaskUpdater(events, context.task_id, context.context_id).cancel()
        print("cancelled", flush=True)

    async def execute(self, context, events):
        task = TaskUpdater(events, context.task_id, context.context_id)
        text = context.get_user_input()
        print(text, flush=True)

        def said(text):
            return task.new_agent_message([Part(text=text)])

        if context.current_task:
            return await task.complete(said(f"It is {text} now."))
        if text == "bare":
            await task.start_work()
            return await task.complete(said("Found it."))
        if text == "hello":
            parts = [Part(text="Hello to you.")]
            reply = Message(role=Role.ROLE_AGENT, message_id="m1", context_id=context.context_id, parts=parts)
            return await events.enqueue_event(reply)
        first = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        ids = {"id": context.task_id, "context_id": context.context_id}
        await events.enqueue_event(Task(**ids, status=first, history=[context.message]))
        await task.start_work()
        if text == "count":
            for at, piece in enumerate(["one, ", "two, ", "three"]):
                ends = {"append": at > 0, "last_chunk": at == 2}
                await task.add_artifact([Part(text=piece)], artifact_id="count", **ends)
            await task.complete()
        elif text == "look":
            for status in ["Looking.", "Reading.", "Writing."]:
                await task.start_work(said(status))
            await task.complete(said("Found it."))
        elif text == "fail":
            await task.failed(said("No luck today."))
        elif text == "paint":
            await task.requires_input(said("Which colour?"))
        elif text == "parts":
            parts = [
                Part(text="All of it:"),
                Part(raw=b"a,b\n1,2\n", media_type="text/csv", filename="table.csv"),
                Part(url="https://files.example/plan.pdf", media_type="application/pdf", filename="plan.pdf"),
                Part(data=json_format.Parse('{"price": 12.5}', Value())),
            ]
            await task.add_artifact(parts, artifact_id="parts", name="parts")
            await task.complete()
        elif text == "wait":
            await asyncio.Event().wait()


async def main():
    listener = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    new, old = grpc.aio.server(), grpc.aio.server()
    ports = [one.add_insecure_port("127.0.0.1:0") for one in (new, old)]
    interfaces = [
        AgentInterface(protocol_binding=binding, url=url, protocol_version=version)
        for version, port in zip(["1.0", "0.3"], ports)
        for binding, url in [
            ("JSONRPC", f"{base}/rpc"),
            ("HTTP+JSON", f"{base}/rest"),
            ("GRPC", f"127.0.0.1:{port}"),
        ]
    ]
    card = AgentCard(
        name="python",
        description="Answers by script.",
        version="1.3.0",
        supported_interfaces=interfaces,
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="script", name="script", description="Answers by script.", tags=["script"])],
    )
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore(), agent_card=card)
    grpc_of.add_A2AServiceServicer_to_server(GrpcHandler(handler), new)
    old_grpc.add_A2AServiceServicer_to_server(CompatGrpcHandler(handler), old)
    await new.start()
    await old.start()
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True),
        *create_rest_routes(handler, path_prefix="/rest", enable_v0_3_compat=True),
    ]
    print(base, flush=True)
    await uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error")).serve(sockets=[listener])


asyncio.run(main())
