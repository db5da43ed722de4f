/**
 * The least that a proxy in this language does: Express in front, undici behind, nothing decided. A program:
 *
 *     node pass-through.ts PORT UPSTREAM
 */
import { pipeline } from 'node:stream';
import express from 'express';
import { Client, Pool } from 'undici';

const [port, upstream] = process.argv.slice(2);
if (port === undefined || upstream === undefined) throw new Error('usage: pass-through.ts PORT UPSTREAM');
const pool = new Pool(upstream, {
  factory: (origin, options) => new Client(origin, { ...options, pipelining: 1 }),
});

const app = express();
app.disable('x-powered-by');
app.disable('etag');
app.get('/health', (_req, res) => void res.send('ok'));
app.post('/v1/chat/completions', async (req, res) => {
  const parts: Buffer[] = [];
  for await (const part of req) parts.push(part as Buffer);
  const answer = await pool.request({
    method: 'POST',
    path: req.originalUrl,
    headers: { 'content-type': 'application/json' },
    body: Buffer.concat(parts),
  });
  res.statusCode = answer.statusCode;
  for (const name of ['content-type', 'content-length']) {
    const value = answer.headers[name];
    if (value !== undefined) res.setHeader(name, value);
  }
  pipeline(answer.body, res, () => {});
});
app.listen(Number(port), '127.0.0.1');
