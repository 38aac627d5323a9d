"""An agent of a2a-sdk 0.3.x over JSON-RPC and HTTP+JSON; it says its address, each text that it is given, and `cancelled`."""

import asyncio
import socket

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, DataPart, FilePart, FileWithBytes
from a2a.types import FileWithUri, Part, TextPart
from a2a.utils import new_agent_text_message, new_task


class Agent(AgentExecutor):
    async def cancel(self, context, events):
        await TaskUpdater(events, context.task_id, context.context_id).cancel()
        print("cancelled", flush=True)

    async def execute(self, context, events):
        text = context.get_user_input()
        print(text, flush=True)
        task = TaskUpdater(events, context.task_id, context.context_id)

        def said(text):
            return new_agent_text_message(text, context.context_id, context.task_id)

        if context.current_task:
            return await task.complete(said(f"It is {text} now."))
        if text == "bare":
            await task.start_work()
            return await task.complete(said("Found it."))
        if text == "hello":
            return await events.enqueue_event(new_agent_text_message("Hello to you.", context.context_id))
        await events.enqueue_event(new_task(context.message))
        await task.start_work()
        if text == "count":
            for at, piece in enumerate(["one, ", "two, ", "three"]):
                ends = {"append": at > 0, "last_chunk": at == 2}
                await task.add_artifact([Part(root=TextPart(text=piece))], artifact_id="count", **ends)
            await task.complete()
        elif text == "look":
            for status in ["Looking.", "Reading.", "Writing."]:
                await task.start_work(said(status))
            await task.complete(said("Found it."))
        elif text == "fail":
            await task.failed(said("No luck today."))
        elif text == "paint":
            await task.requires_input(said("Which colour?"), final=True)
        elif text == "parts":
            table = FileWithBytes(bytes="YSxiCjEsMgo=", mime_type="text/csv", name="table.csv")
            plan = FileWithUri(uri="https://files.example/plan.pdf", mime_type="application/pdf", name="plan.pdf")
            parts = [TextPart(text="All of it:"), FilePart(file=table), FilePart(file=plan)]
            parts.append(DataPart(data={"price": 12.5}))
            await task.add_artifact([Part(root=part) for part in parts], artifact_id="parts", name="parts")
            await task.complete()
        elif text == "wait":
            await asyncio.Event().wait()


async def main():
    listener = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    card = AgentCard(
        name="python 0.3",
        description="Answers by script.",
        version="0.3.26",
        url=f"{base}/",
        preferred_transport="JSONRPC",
        additional_interfaces=[
            AgentInterface(transport="JSONRPC", url=f"{base}/"),
            AgentInterface(transport="HTTP+JSON", url=f"{base}/rest"),
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="script", name="script", description="Answers by script.", tags=["script"])],
    )
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore())
    app = A2AStarletteApplication(card, handler).build()
    app.mount("/rest", A2ARESTFastAPIApplication(card, handler).build())
    print(base, flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[listener])


asyncio.run(main())
