"""The client of a2a-sdk 1.x against the agent of the conformance kits: peer.py BASE {JSONRPC|HTTP+JSON|GRPC} {1.0|0.3} WEBHOOK"""

import asyncio
import sys
import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, create_client
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)

base, binding, version, webhook = sys.argv[1:5]


def said(prefix, task=None, **configuration):
    message = Message(message_id=f"{prefix}-{uuid.uuid4().hex}", role=Role.ROLE_USER, parts=[Part(text="hello")])
    if task is not None:
        message.task_id, message.context_id = task.id, task.context_id
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(**configuration))


async def all_of(events):
    return [event async for event in events]


async def main():
    async with httpx.AsyncClient(headers={"A2A-Version": version}, timeout=20) as http:
        card = await A2ACardResolver(http, base).get_agent_card()
        fitting = [
            one
            for one in card.supported_interfaces
            if one.protocol_binding == binding and one.protocol_version.startswith(version)
        ]
        assert fitting, card
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(fitting)

        async def client(streaming):
            config = ClientConfig(
                httpx_client=http,
                supported_protocol_bindings=[binding],
                streaming=streaming,
                grpc_channel_factory=grpc.aio.insecure_channel,
            )
            return await create_client(card, config)

        once, streams = await client(False), await client(True)

        [reply] = await all_of(once.send_message(said("echo")))
        assert reply.message.parts[0].text == "hello", reply
        print("message")

        task = (await all_of(once.send_message(said("tck-artifact-text"))))[-1].task
        assert task.status.state == TaskState.TASK_STATE_COMPLETED, task
        assert task.artifacts[0].parts[0].text == "Generated text content", task
        print("task")

        assert (await once.get_task(GetTaskRequest(id=task.id))).artifacts == task.artifacts
        print("get")

        if version == "1.0":
            listed = await once.list_tasks(ListTasksRequest(context_id=task.context_id))
            assert [one.id for one in listed.tasks] == [task.id], listed
            print("list")

        kinds = [event.WhichOneof("payload") for event in await all_of(streams.send_message(said("tck-stream-001")))]
        assert kinds[0] == "task" and kinds[-1] == "status_update" and "artifact_update" in kinds, kinds
        print("stream")

        asked = (await all_of(once.send_message(said("tck-input-required"))))[-1].task
        assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED, asked
        subscribed = streams.subscribe(SubscribeToTaskRequest(id=asked.id))
        first = await anext(subscribed)
        assert first.task.id == asked.id, first
        canceled = await once.cancel_task(CancelTaskRequest(id=asked.id))
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED, canceled
        print("cancel")
        rest = await all_of(subscribed)
        assert rest[-1].status_update.status.state == TaskState.TASK_STATE_CANCELED, rest
        print("subscribe")

        config = TaskPushNotificationConfig(id="mine", url=webhook, token=f"python {binding} {version}")
        asked = said("tck-complete-task", task_push_notification_config=config)
        assert (await all_of(once.send_message(asked)))[-1].task.id
        print("push")

        try:
            await once.get_task(GetTaskRequest(id="none"))
        except Exception as error:
            # Without ErrorInfo, as in v0.3 beside JSON-RPC, a client cannot tell which error it is.
            assert type(error).__name__ == "TaskNotFoundError" or version == "0.3" and binding != "JSONRPC", repr(error)
        else:
            raise SystemExit("there is no such task")
        print("error")


asyncio.run(main())
