// An agent of @a2a-js/sdk 1.x over every binding, in both versions; it says its address, each text that it is given, and `cancelled`.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';

const need = createRequire(process.env.MAS_A2A_JS + '/x.js');
const { AgentCard, AGENT_CARD_PATH, Role, TaskState: State } = need('@a2a-js/sdk');
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = need('@a2a-js/sdk/server');
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } = need('@a2a-js/sdk/server/express');
const { A2AService, grpcService } = need('@a2a-js/sdk/server/grpc');
const { LegacyA2AService, legacyGrpcService } = need('@a2a-js/sdk/compat/v0_3/server/grpc');
const express = need('express');
const { Server, ServerCredentials } = need('@grpc/grpc-js');

const part = (kind, value, mediaType = '', filename = '') => ({ content: { $case: kind, value }, filename, mediaType, metadata: undefined });

class Agent {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const said = (text) => ({ messageId: randomUUID(), role: Role.ROLE_AGENT, parts: [part('text', text)], contextId, taskId, extensions: [], referenceTaskIds: [], metadata: undefined });
    const status = (state, text) => bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: { state, message: text && said(text), timestamp: new Date().toISOString() }, metadata: undefined }));
    const artifact = (artifactId, parts, append = false, lastChunk = true) => bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, append, lastChunk, metadata: undefined, artifact: { artifactId, name: '', description: '', parts, extensions: [], metadata: undefined } }));
    const text = userMessage.parts[0].content.value;
    console.log(text);
    if (task) {
      bus.publish(AgentEvent.task(task));
      status(State.TASK_STATE_COMPLETED, `It is ${text} now.`);
      return bus.finished();
    }
    if (text === 'bare') {
      status(State.TASK_STATE_WORKING);
      status(State.TASK_STATE_COMPLETED, 'Found it.');
      return bus.finished();
    }
    if (text === 'hello') {
      bus.publish(AgentEvent.message({ ...said('Hello to you.'), taskId: '' }));
      return bus.finished();
    }
    bus.publish(AgentEvent.task({ id: taskId, contextId, status: { state: State.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() }, artifacts: [], history: [userMessage], metadata: undefined }));
    status(State.TASK_STATE_WORKING);
    if (text === 'count') {
      ['one, ', 'two, ', 'three'].forEach((piece, at) => artifact('count', [part('text', piece)], at > 0, at === 2));
      status(State.TASK_STATE_COMPLETED);
    } else if (text === 'look') {
      for (const doing of ['Looking.', 'Reading.', 'Writing.']) status(State.TASK_STATE_WORKING, doing);
      status(State.TASK_STATE_COMPLETED, 'Found it.');
    } else if (text === 'fail') {
      status(State.TASK_STATE_FAILED, 'No luck today.');
    } else if (text === 'paint') {
      status(State.TASK_STATE_INPUT_REQUIRED, 'Which colour?');
    } else if (text === 'parts') {
      artifact('parts', [
        part('text', 'All of it:'),
        part('raw', Buffer.from('a,b\n1,2\n'), 'text/csv', 'table.csv'),
        part('url', 'https://files.example/plan.pdf', 'application/pdf', 'plan.pdf'),
        part('data', { price: 12.5 }),
      ]);
      status(State.TASK_STATE_COMPLETED);
    } else if (text === 'wait') {
      return new Promise((done) => this.stop = done);
    }
    bus.finished();
  }

  async cancelTask(taskId, bus, context) {
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId: context?.task?.contextId ?? '', status: { state: State.TASK_STATE_CANCELED, message: undefined, timestamp: new Date().toISOString() }, metadata: undefined }));
    bus.finished();
    this.stop();
    console.log('cancelled');
  }
}

const app = express();
const listener = app.listen(0, '127.0.0.1', () => {
  const base = `http://127.0.0.1:${listener.address().port}`;
  const server = new Server();
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, port) => {
    const places = [['JSONRPC', `${base}/rpc`], ['HTTP+JSON', `${base}/rest`], ['GRPC', `127.0.0.1:${port}`]];
    const card = AgentCard.fromJSON({
      name: 'js', description: 'Answers by script.', version: '1.3.0', capabilities: { streaming: true },
      supportedInterfaces: ['1.0', '0.3'].flatMap((protocolVersion) => places.map(([protocolBinding, url]) => ({ url, protocolBinding, protocolVersion }))),
      defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
      skills: [{ id: 'script', name: 'script', description: 'Answers by script.', tags: ['script'] }],
    });
    const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Agent());
    const options = { requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat: { enabled: true } };
    app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler, legacyCompat: options.legacyCompat }));
    app.use('/rpc', jsonRpcHandler(options));
    app.use('/rest', restHandler(options));
    server.addService(A2AService, grpcService(options));
    server.addService(LegacyA2AService, legacyGrpcService(options));
    console.log(base);
  });
});
