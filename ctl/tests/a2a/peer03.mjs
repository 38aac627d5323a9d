// The client of @a2a-js/sdk 0.3.x against the agent of the conformance kits: peer03.mjs BASE {JSONRPC|HTTP+JSON|GRPC} 0.3 WEBHOOK
import assert from 'node:assert';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';

const need = createRequire(process.env.MAS_A2A_JS + '/x.js');
const client = need('a2a-js-03/client');
const { GrpcTransportFactory } = need('a2a-js-03/client/grpc');
const [base, binding, , webhook] = process.argv.slice(2);

const said = (prefix, configuration) => ({
  configuration,
  message: { kind: 'message', messageId: `${prefix}-${randomUUID()}`, role: 'user', parts: [{ kind: 'text', text: 'hello' }] },
});

const card = await new client.DefaultAgentCardResolver().resolve(base);
assert.equal(card.protocolVersion, '0.3.0');
const transports = [new client.JsonRpcTransportFactory(), new client.RestTransportFactory(), new GrpcTransportFactory()];
const fitting = transports.filter((one) => one.protocolName === binding);
const agent = await new client.ClientFactory({ transports: fitting, preferredTransports: [binding] }).createFromAgentCard(card);

const echoed = await agent.sendMessage(said('echo'));
assert(echoed.kind === 'message' && echoed.parts[0].text === 'hello', JSON.stringify(echoed));
console.log('message');
const task = await agent.sendMessage(said('tck-artifact-text'));
assert.equal(task.status.state, 'completed');
assert.equal(task.artifacts[0].parts[0].text, 'Generated text content');
console.log('task');
assert.deepEqual((await agent.getTask({ id: task.id })).artifacts, task.artifacts);
console.log('get');
const events = [];
for await (const event of agent.sendMessageStream(said('tck-stream-001'))) events.push(event);
assert.equal(events.map((event) => event.kind).join(), 'task,status-update,artifact-update,status-update');
assert(events.at(-1).final && events.at(-1).status.state === 'completed');
console.log('stream');
const asked = await agent.sendMessage(said('tck-input-required'));
assert.equal(asked.status.state, 'input-required');
const subscribed = agent.resubscribeTask({ id: asked.id });
assert.equal((await subscribed.next()).value.id, asked.id);
assert.equal((await agent.cancelTask({ id: asked.id })).status.state, 'canceled');
console.log('cancel');
const last = (await subscribed.next()).value;
assert(last.kind === 'status-update' && last.status.state === 'canceled', JSON.stringify(last));
assert((await subscribed.next()).done);
console.log('subscribe');
const told = { id: 'mine', url: webhook, token: `js ${binding} 0.3` };
await agent.sendMessage(said('tck-complete-task', { pushNotificationConfig: told }));
console.log('push');
await assert.rejects(agent.getTask({ id: 'none' }), (error) => binding !== 'JSONRPC' || error instanceof client.TaskNotFoundError);
console.log('error');
process.exit(0);
