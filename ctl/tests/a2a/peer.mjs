// The client of @a2a-js/sdk 1.x against the agent of the conformance kits: peer.mjs BASE {JSONRPC|HTTP+JSON|GRPC} {1.0|0.3} WEBHOOK
import assert from 'node:assert';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';

const need = createRequire(process.env.MAS_A2A_JS + '/x.js');
const { Role, TaskState } = need('@a2a-js/sdk');
const client = need('@a2a-js/sdk/client');
const { GrpcTransportFactory } = need('@a2a-js/sdk/client/grpc');
const [base, binding, version, webhook] = process.argv.slice(2);
const legacy = { legacyCompat: { enabled: true } };

const said = (prefix, configuration) => ({
  tenant: '', metadata: undefined, configuration,
  message: {
    messageId: `${prefix}-${randomUUID()}`, role: Role.ROLE_USER, contextId: '', taskId: '', extensions: [], referenceTaskIds: [], metadata: undefined,
    parts: [{ content: { $case: 'text', value: 'hello' }, filename: '', mediaType: '', metadata: undefined }],
  },
});
const kind = (event) => event.payload?.$case ?? event.kind;
const of = (reply) => reply.task ?? reply.message ?? reply.payload?.value ?? reply;

const card = await new client.DefaultAgentCardResolver(legacy).resolve(base);
card.supportedInterfaces = card.supportedInterfaces.filter((one) => one.protocolBinding === binding && one.protocolVersion.startsWith(version));
assert(card.supportedInterfaces.length, 'the card has the interface');
const transports = [new client.JsonRpcTransportFactory(legacy), new client.RestTransportFactory(legacy), new GrpcTransportFactory(legacy)];
const agent = await new client.ClientFactory({ transports }).createFromAgentCard(card);

assert.equal(of(await agent.sendMessage(said('echo'))).parts[0].content.value, 'hello');
console.log('message');
const task = of(await agent.sendMessage(said('tck-complete-task')));
assert.equal(task.status.state, TaskState.TASK_STATE_COMPLETED);
console.log('task');
assert.equal((await agent.getTask({ tenant: '', id: task.id })).id, task.id);
console.log('get');
if (version === '1.0') {
  const listed = await agent.listTasks({ tenant: '', contextId: task.contextId, status: 0, pageToken: '', statusTimestampAfter: undefined });
  assert.deepEqual(listed.tasks.map((one) => one.id), [task.id]);
  console.log('list');
}
const kinds = [];
for await (const event of agent.sendMessageStream(said('tck-stream-001'))) kinds.push(kind(event));
assert(kinds[0] === 'task' && kinds.includes('artifactUpdate'), kinds.join());
console.log('stream');
const asked = of(await agent.sendMessage(said('tck-input-required')));
assert.equal(asked.status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
const subscribed = agent.resubscribeTask({ tenant: '', id: asked.id });
assert.equal(of((await subscribed.next()).value).id, asked.id);
const canceled = await agent.cancelTask({ tenant: '', id: asked.id, metadata: undefined });
assert.equal(canceled.status.state, TaskState.TASK_STATE_CANCELED);
console.log('cancel');
const last = (await subscribed.next()).value;
assert(kind(last) === 'statusUpdate' && of(last).status.state === TaskState.TASK_STATE_CANCELED, JSON.stringify(last));
assert((await subscribed.next()).done);
console.log('subscribe');
await agent.sendMessage(said('tck-complete-task', {
  acceptedOutputModes: [], historyLength: undefined, returnImmediately: false,
  taskPushNotificationConfig: { tenant: '', taskId: '', id: 'mine', url: webhook, token: `js ${binding} ${version}`, authentication: undefined },
}));
console.log('push');
await assert.rejects(agent.getTask({ tenant: '', id: 'none' }));
console.log('error');
process.exit(0);
