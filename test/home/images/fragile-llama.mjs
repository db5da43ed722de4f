/**
 * A llama-server that some requests end: a body with `<<end the server>>` makes the program exit as by a
 * segmentation fault; one with `<<fill the memory>>` ends it on the GPU as CUDA does for want of memory; any
 * other chat is answered after a second, one with `<<slowly>>` after three. Stands in for a build with a fault, and for a card that is full.
 */
import { createServer } from 'node:http';

const ANSWER_AFTER_MS = 1000;
const SLOWLY_MS = 3000;
const CRASHED = 139;
const ABORTED = 134;

const server = createServer((req, res) => {
  let body = '';
  req.on('data', (chunk) => {
    body += chunk;
  });
  req.on('end', () => {
    if (body.includes('<<end the server>>')) process.exit(CRASHED);
    if (body.includes('<<fill the memory>>') && process.env.LLAMA_ARG_DEVICE !== 'none') {
      console.error('0.01.000.000 E CUDA error: out of memory');
      process.exit(ABORTED);
    }
    const answer = () => {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(
        JSON.stringify({ object: 'chat.completion', choices: [{ index: 0, message: { content: 'alive' } }] }),
      );
    };
    if (req.url === '/v1/chat/completions')
      setTimeout(answer, body.includes('<<slowly>>') ? SLOWLY_MS : ANSWER_AFTER_MS);
    else answer();
  });
});
server.listen(Number(process.env.LLAMA_ARG_PORT), () => console.log('main: server is listening'));
process.on('SIGTERM', () => process.exit(0));
