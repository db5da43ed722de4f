/** `/v1/models` and `/v1/models/:id` in OpenAI's form, answered without waking anything. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ownError } from '../errors.ts';
import { sendOwn } from './answer.ts';
import { requestIdOf } from './headers.ts';
import type { CatalogModel } from './options.ts';
import { OPENAI } from './protocols.ts';

/** Answers a path that is no protocol's: the models, or that there is no such path. */
export function answerModels(
  catalog: readonly CatalogModel[],
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
): void {
  const requestId = requestIdOf(req.headers);
  const reads = req.method === 'GET' || req.method === 'HEAD';
  if (path === '/v1/models' && reads) {
    sendJson(res, modelList(catalog), requestId);
    return;
  }
  const name = reads ? /^\/v1\/models\/(.+)$/.exec(path)?.[1] : undefined;
  if (name === undefined) {
    refuse(res, 'not_found', `There is no ${req.method ?? ''} ${path.slice(0, 200)}.`, requestId);
    return;
  }
  const model = findModel(catalog, decoded(name));
  if (model !== undefined) sendJson(res, modelEntry(model, decoded(name)), requestId);
  else refuse(res, 'unknown_model', `There is no model ${decoded(name).slice(0, 200)}.`, requestId);
}

function refuse(res: ServerResponse, code: string, message: string, requestId: string): void {
  const error = ownError(code, message, requestId);
  sendOwn(res, OPENAI.errorBody(error), error);
}

function sendJson(res: ServerResponse, body: string, requestId: string): void {
  const length = String(Buffer.byteLength(body));
  const type = 'application/json; charset=utf-8';
  res.writeHead(200, ['Content-Type', type, 'Content-Length', length, 'X-Request-Id', requestId]);
  res.end(body);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A model by name or alias. */
function findModel(catalog: readonly CatalogModel[], name: string): CatalogModel | undefined {
  return catalog.find((model) => model.name === name || model.aliases.includes(name));
}

function modelList(catalog: readonly CatalogModel[]): string {
  return JSON.stringify({ object: 'list', data: catalog.map((model) => entry(model, model.name)) });
}

/** The entry under the name that was asked for. */
function modelEntry(model: CatalogModel, name: string): string {
  return JSON.stringify(entry(model, name));
}

function entry(model: CatalogModel, id: string): Record<string, unknown> {
  return {
    id,
    object: 'model',
    created: 0,
    owned_by: 'llamastead',
    name: model.displayName,
    aliases: model.aliases,
    task: model.task,
    context_length: model.context,
  };
}
