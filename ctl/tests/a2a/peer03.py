"""The client of a2a-sdk 0.3.x against the agent of the conformance kits: peer03.py BASE {JSONRPC|HTTP+JSON|GRPC} 0.3 WEBHOOK"""

import asyncio
import sys
import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, PushNotificationConfig, Role, TaskIdParams, TaskQueryParams, TaskState, TextPart

base, binding, version, webhook = sys.argv[1:5]


def said(prefix):
    parts = [Part(root=TextPart(text="hello"))]
    return Message(message_id=f"{prefix}-{uuid.uuid4().hex}", role=Role.user, parts=parts)


async def last(events):
    *_, event = [event async for event in events]
    return event


async def main():
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, base).get_agent_card()

        def client(streaming, **more):
            config = ClientConfig(
                httpx_client=http,
                supported_transports=[binding],
                use_client_preference=True,
                streaming=streaming,
                grpc_channel_factory=grpc.aio.insecure_channel,
                **more,
            )
            return ClientFactory(config).create(card)

        once, streams = client(False), client(True)

        reply = await last(once.send_message(said("echo")))
        assert reply.parts[0].root.text == "hello", reply
        print("message")

        task, _ = await last(once.send_message(said("tck-artifact-text")))
        assert task.status.state == TaskState.completed, task
        assert task.artifacts[0].parts[0].root.text == "Generated text content", task
        print("task")

        assert (await once.get_task(TaskQueryParams(id=task.id))).artifacts == task.artifacts
        print("get")

        task, update = await last(streams.send_message(said("tck-stream-001")))
        assert task.status.state == TaskState.completed and update.final, (task, update)
        assert task.artifacts[0].parts[0].root.text == "Stream hello from TCK", task
        print("stream")

        asked, _ = await last(once.send_message(said("tck-input-required")))
        assert asked.status.state == TaskState.input_required, asked
        subscribed = streams.resubscribe(TaskIdParams(id=asked.id))
        first, _ = await anext(subscribed)
        assert first.id == asked.id, first
        canceled = await once.cancel_task(TaskIdParams(id=asked.id))
        assert canceled.status.state == TaskState.canceled, canceled
        print("cancel")
        task, _ = await last(subscribed)
        assert task.status.state == TaskState.canceled, task
        print("subscribe")

        config = PushNotificationConfig(id="mine", url=webhook, token=f"python {binding} {version}")
        await last(client(False, push_notification_configs=[config]).send_message(said("tck-complete-task")))
        print("push")

        try:
            await once.get_task(TaskQueryParams(id="none"))
        except Exception:
            print("error")
        else:
            raise SystemExit("there is no such task")


asyncio.run(main())
