"""Prints the messages that the tests read and write, as the official Python SDK writes them.

    pip install 'a2a-sdk[grpc]==1.3.0' && python fixtures.py > fixtures.txt
"""

from a2a.compat.v0_3 import a2a_v0_3_pb2 as v03
from a2a.types import a2a_pb2 as v1
from google.protobuf.json_format import ParseDict

MESSAGE = {
    "messageId": "m1", "contextId": "c1", "taskId": "t1", "role": "ROLE_USER",
    "parts": [
        {"text": "hi"},
        {"raw": "AP8=", "metadata": {"a": 1}, "filename": "p.png", "mediaType": "image/png"},
        {"url": "https://example.com/x"},
        {"data": {"big": 9007199254740991, "half": 0.5, "list": [None, True, "x"]}},
        {"data": None},
    ],
    "metadata": {"k": "v"}, "extensions": ["urn:x"], "referenceTaskIds": ["t0"],
}
PUSH = {
    "id": "p1", "taskId": "t1", "url": "https://example.com/hook", "token": "t",
    "authentication": {"scheme": "Bearer", "credentials": "c"},
}
STATUS = {
    "state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2025-10-28T10:30:00.007Z",
    "message": {"messageId": "m2", "contextId": "c1", "taskId": "t1", "role": "ROLE_AGENT", "parts": [{"text": "which?"}]},
}
ARTIFACT = {
    "artifactId": "a1", "name": "n", "description": "d", "parts": [{"text": "one"}],
    "metadata": {"k": [1, 2]}, "extensions": ["urn:x"],
}
TASK = {
    "id": "t1", "contextId": "c1", "status": STATUS, "artifacts": [ARTIFACT], "history": [MESSAGE],
    "metadata": {"k": {}},
}
SKILL = {"id": "s", "name": "S", "description": "d", "tags": ["t"], "examples": ["e"], "inputModes": ["text/plain"]}
CARD = {
    "name": "N", "description": "D", "version": "1.2.3",
    "supportedInterfaces": [
        {"url": "http://h/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": "h:1", "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "x"},
    ],
    "provider": {"url": "https://example.com", "organization": "O"},
    "documentationUrl": "https://example.com/doc", "iconUrl": "https://example.com/icon",
    "capabilities": {
        "streaming": True, "pushNotifications": False, "extendedAgentCard": True,
        "extensions": [{"uri": "urn:x", "description": "d", "required": True, "params": {"n": 1}}],
    },
    "securitySchemes": {
        "b": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
        "k": {"apiKeySecurityScheme": {"location": "header", "name": "x-key"}},
        "m": {"mtlsSecurityScheme": {"description": "d"}},
        "o": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "https://t", "scopes": {"s": "d"}}}, "oauth2MetadataUrl": "https://m"}},
        "p": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://o"}},
    },
    "securityRequirements": [{"schemes": {"b": {"list": ["s"]}}}, {"schemes": {"k": {"list": ["r"]}}}],
    "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [SKILL],
    "signatures": [{"protected": "p", "signature": "s", "header": {"kid": "k"}}],
}

OLD_MESSAGE = {
    "messageId": "m1", "contextId": "c1", "taskId": "t1", "role": "ROLE_USER",
    "content": [
        {"text": "hi"},
        {"file": {"fileWithBytes": "AP8=", "mimeType": "image/png", "name": "p.png"}, "metadata": {"a": 1}},
        {"file": {"fileWithUri": "https://example.com/x"}},
        {"data": {"data": {"n": 1}}},
        {"data": {"data": {"value": [1]}}, "metadata": {"data_part_compat": True}},
    ],
    "metadata": {"k": "v"}, "extensions": ["urn:x"],
}
OLD_PUSH = {
    "id": "p1", "url": "https://example.com/hook", "token": "t",
    "authentication": {"schemes": ["Bearer"], "credentials": "c"},
}
OLD_STATUS = {
    "state": "TASK_STATE_CANCELLED", "timestamp": "2025-10-28T10:30:00.007Z",
    "update": {"messageId": "m2", "contextId": "c1", "taskId": "t1", "role": "ROLE_AGENT", "content": [{"text": "gone"}]},
}
OLD_ARTIFACT = dict(ARTIFACT)
OLD_TASK = {
    "id": "t1", "contextId": "c1", "status": OLD_STATUS, "artifacts": [OLD_ARTIFACT], "history": [OLD_MESSAGE],
    "metadata": {"k": {}},
}
OLD_CARD = {
    "name": "N", "description": "D", "version": "1.2.3", "protocolVersion": "0.3.0", "url": "http://h/",
    "preferredTransport": "JSONRPC", "additionalInterfaces": [{"url": "h:1", "transport": "GRPC"}],
    "provider": {"url": "https://example.com", "organization": "O"},
    "documentationUrl": "https://example.com/doc", "iconUrl": "https://example.com/icon",
    "capabilities": {"streaming": True, "pushNotifications": True, "extensions": [{"uri": "urn:x", "required": True}]},
    "securitySchemes": {
        "b": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
        "k": {"apiKeySecurityScheme": {"location": "header", "name": "x-key"}},
    },
    "security": [{"schemes": {"b": {"list": ["s"]}}}, {"schemes": {"k": {"list": ["r"]}}}],
    "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [SKILL],
    "supportsAuthenticatedExtendedCard": True,
}

FIXTURES = {
    "v1.send": (v1.SendMessageRequest, {
        "tenant": "x", "message": MESSAGE, "metadata": {"r": 1},
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 0, "returnImmediately": True,
            "taskPushNotificationConfig": {**PUSH, "taskId": ""},
        },
    }),
    "v1.get": (v1.GetTaskRequest, {"tenant": "x", "id": "t1", "historyLength": 3}),
    "v1.list": (v1.ListTasksRequest, {
        "tenant": "x", "contextId": "c1", "status": "TASK_STATE_WORKING", "pageSize": 7, "pageToken": "p",
        "historyLength": 2, "statusTimestampAfter": "2025-10-28T10:30:00.007Z", "includeArtifacts": True,
    }),
    "v1.cancel": (v1.CancelTaskRequest, {"tenant": "x", "id": "t1", "metadata": {"why": "enough"}}),
    "v1.subscribe": (v1.SubscribeToTaskRequest, {"tenant": "x", "id": "t1"}),
    "v1.push": (v1.TaskPushNotificationConfig, PUSH),
    "v1.get_push": (v1.GetTaskPushNotificationConfigRequest, {"tenant": "x", "taskId": "t1", "id": "p1"}),
    "v1.delete_push": (v1.DeleteTaskPushNotificationConfigRequest, {"tenant": "x", "taskId": "t1", "id": "p1"}),
    "v1.list_push": (v1.ListTaskPushNotificationConfigsRequest, {"tenant": "x", "taskId": "t1", "pageSize": 5}),
    "v1.extended": (v1.GetExtendedAgentCardRequest, {"tenant": "x"}),
    "v1.sent": (v1.SendMessageResponse, {"task": TASK}),
    "v1.sent_message": (v1.SendMessageResponse, {"message": MESSAGE}),
    "v1.event_task": (v1.StreamResponse, {"task": TASK}),
    "v1.event_message": (v1.StreamResponse, {"message": MESSAGE}),
    "v1.event_status": (v1.StreamResponse, {"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": STATUS}}),
    "v1.event_artifact": (v1.StreamResponse, {
        "artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact": ARTIFACT, "append": True, "lastChunk": True},
    }),
    "v1.listing": (v1.ListTasksResponse, {"tasks": [TASK], "nextPageToken": "n", "pageSize": 1, "totalSize": 2}),
    "v1.pushes": (v1.ListTaskPushNotificationConfigsResponse, {"configs": [PUSH]}),
    "v1.card": (v1.AgentCard, CARD),
    "v03.send": (v03.SendMessageRequest, {
        "request": OLD_MESSAGE, "metadata": {"r": 1},
        "configuration": {"acceptedOutputModes": ["text/plain"], "historyLength": 2, "blocking": True, "pushNotification": OLD_PUSH},
    }),
    "v03.get": (v03.GetTaskRequest, {"name": "tasks/t1", "historyLength": 3}),
    "v03.cancel": (v03.CancelTaskRequest, {"name": "tasks/t1"}),
    "v03.subscribe": (v03.TaskSubscriptionRequest, {"name": "tasks/t1"}),
    "v03.create_push": (v03.CreateTaskPushNotificationConfigRequest, {
        "parent": "tasks/t1", "configId": "other",
        "config": {"name": "tasks/t1/pushNotificationConfigs/p1", "pushNotificationConfig": OLD_PUSH},
    }),
    "v03.get_push": (v03.GetTaskPushNotificationConfigRequest, {"name": "tasks/t1/pushNotificationConfigs/p1"}),
    "v03.delete_push": (v03.DeleteTaskPushNotificationConfigRequest, {"name": "tasks/t1/pushNotificationConfigs/p1"}),
    "v03.list_push": (v03.ListTaskPushNotificationConfigRequest, {"parent": "tasks/t1"}),
    "v03.sent": (v03.SendMessageResponse, {"task": OLD_TASK}),
    "v03.sent_message": (v03.SendMessageResponse, {"msg": OLD_MESSAGE}),
    "v03.event_task": (v03.StreamResponse, {"task": OLD_TASK}),
    "v03.event_message": (v03.StreamResponse, {"msg": OLD_MESSAGE}),
    "v03.event_status": (v03.StreamResponse, {"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": OLD_STATUS, "final": True}}),
    "v03.event_artifact": (v03.StreamResponse, {
        "artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact": OLD_ARTIFACT, "append": True, "lastChunk": True},
    }),
    "v03.push": (v03.TaskPushNotificationConfig, {"name": "tasks/t1/pushNotificationConfigs/p1", "pushNotificationConfig": OLD_PUSH}),
    "v03.pushes": (v03.ListTaskPushNotificationConfigResponse, {
        "configs": [{"name": "tasks/t1/pushNotificationConfigs/p1", "pushNotificationConfig": OLD_PUSH}],
    }),
    "v03.card": (v03.AgentCard, OLD_CARD),
}

for name, (message, fields) in FIXTURES.items():
    print(name, ParseDict(fields, message()).SerializeToString(deterministic=True).hex())
