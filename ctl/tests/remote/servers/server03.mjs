// An agent of @a2a-js/sdk 0.3.x over JSON-RPC and HTTP+JSON; it says its address, each text that it is given, and `cancelled`.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';

const need = createRequire(process.env.MAS_A2A_JS + '/x.js');
const { AGENT_CARD_PATH } = need('a2a-js-03');
const { DefaultRequestHandler, InMemoryTaskStore } = need('a2a-js-03/server');
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } = need('a2a-js-03/server/express');
const express = need('express');

const waiting = new Map();

class Agent {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const said = (text) => ({ kind: 'message', messageId: randomUUID(), role: 'agent', parts: [{ kind: 'text', text }], contextId });
    const status = (state, text, final = false) => bus.publish({ kind: 'status-update', taskId, contextId, status: { state, message: text && said(text) }, final });
    const artifact = (artifactId, parts, append = false, lastChunk = true) => bus.publish({ kind: 'artifact-update', taskId, contextId, append, lastChunk, artifact: { artifactId, parts } });
    const [{ text }] = userMessage.parts;
    console.log(text);
    if (task) {
      status('completed', `It is ${text} now.`, true);
      return bus.finished();
    }
    if (text === 'bare') {
      status('working');
      status('completed', 'Found it.', true);
      return bus.finished();
    }
    if (text === 'hello') {
      bus.publish(said('Hello to you.'));
      return bus.finished();
    }
    bus.publish({ kind: 'task', id: taskId, contextId, status: { state: 'submitted' }, history: [userMessage] });
    status('working');
    if (text === 'count') {
      ['one, ', 'two, ', 'three'].forEach((piece, at) => artifact('count', [{ kind: 'text', text: piece }], at > 0, at === 2));
      status('completed', undefined, true);
    } else if (text === 'look') {
      for (const doing of ['Looking.', 'Reading.', 'Writing.']) status('working', doing);
      status('completed', 'Found it.', true);
    } else if (text === 'fail') {
      status('failed', 'No luck today.', true);
    } else if (text === 'paint') {
      status('input-required', 'Which colour?', true);
    } else if (text === 'parts') {
      artifact('parts', [
        { kind: 'text', text: 'All of it:' },
        { kind: 'file', file: { bytes: 'YSxiCjEsMgo=', mimeType: 'text/csv', name: 'table.csv' } },
        { kind: 'file', file: { uri: 'https://files.example/plan.pdf', mimeType: 'application/pdf', name: 'plan.pdf' } },
        { kind: 'data', data: { price: 12.5 } },
      ]);
      status('completed', undefined, true);
    } else if (text === 'wait') {
      waiting.set(taskId, contextId);
      return;
    }
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    bus.publish({ kind: 'status-update', taskId, contextId: waiting.get(taskId), status: { state: 'canceled' }, final: true });
    bus.finished();
    console.log('cancelled');
  }
}

const app = express();
const listener = app.listen(0, '127.0.0.1', () => {
  const base = `http://127.0.0.1:${listener.address().port}`;
  const card = {
    name: 'js 0.3', description: 'Answers by script.', version: '0.3.14', protocolVersion: '0.3.0', url: `${base}/rpc`, preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url: `${base}/rpc`, transport: 'JSONRPC' }, { url: `${base}/rest`, transport: 'HTTP+JSON' }],
    capabilities: { streaming: true }, defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
    skills: [{ id: 'script', name: 'script', description: 'Answers by script.', tags: ['script'] }],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Agent());
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/rpc', jsonRpcHandler(options));
  app.use('/rest', restHandler(options));
  console.log(base);
});
