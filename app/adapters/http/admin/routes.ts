/**
 * Small parts of the admin API's routes: which methods a path takes, and errors as answers.
 */
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Router } from 'express';
import { z } from 'zod';
import { AppError } from '../../../errors.ts';
import { sendError, statusOf } from '../errors.ts';
import { requestIdOf } from '../forward/headers.ts';

type Method = 'get' | 'post' | 'patch' | 'delete';

/** Registers a path with the methods that it takes; any other gets 405 with Allow. */
export function route(router: Router, path: string, methods: Partial<Record<Method, RequestHandler>>): void {
  const entry = router.route(path);
  if (methods.get !== undefined) entry.get(methods.get);
  if (methods.post !== undefined) entry.post(methods.post);
  if (methods.patch !== undefined) entry.patch(methods.patch);
  if (methods.delete !== undefined) entry.delete(methods.delete);
  const allowed = Object.keys(methods).map((method) => method.toUpperCase());
  entry.all((req, res) => {
    res.setHeader('allow', allowed.join(', '));
    const message = `${req.method} is not possible here, only ${allowed.join(', ')}.`;
    sendError(res, 'method_not_allowed', message, requestIdOf(req.headers));
  });
}

/**
 * Only what is called JSON is read as JSON: any other type, or none, a page of another site can send without
 * asking first. An empty body is none: some clients name a type all the same.
 */
const asJson: RequestHandler = (req, _res, next) => {
  const bytes: unknown = req.body;
  req.body = undefined;
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return next();
  if (req.is('application/json') === false) return next(new AppError('invalid_request', wrongType(req)));
  try {
    req.body = JSON.parse(bytes.toString('utf8'));
    next();
  } catch (thrown) {
    const text = `The body is not valid JSON: ${AppError.from(thrown).message}`;
    next(new AppError('invalid_request', text, { cause: thrown }));
  }
};

function wrongType(req: Request): string {
  const type = req.headers['content-type'];
  if (type !== undefined)
    return `Content-Type is ${JSON.stringify(type.slice(0, 100))}, expected application/json.`;
  return 'The body has no Content-Type header, expected Content-Type: application/json.';
}

/** Reads a JSON body of at most 64 KiB into `req.body`; undefined where it is empty. */
export const jsonBody: RequestHandler[] = [express.raw({ limit: '64kb', type: () => true }), asJson];

/** The last handler: names what does not exist. */
export const notFound: RequestHandler = (req, res) => {
  const path = req.originalUrl.split('?', 1)[0]?.slice(0, 200) ?? '';
  sendError(res, 'not_found', `There is nothing at ${req.method} ${path}.`, requestIdOf(req.headers));
};

/** What Express and its body parser throw: http-errors with a type, or a wrong escape in a path. */
const HttpError = z.object({
  status: z.int(),
  type: z.string().optional(),
  message: z.string(),
  limit: z.number().optional(),
});

/** Answers with our form of any error; what nobody foresaw is logged and told without its inside. */
export function errorAnswer(onUnforeseen: (error: AppError, requestId: string) => void): ErrorRequestHandler {
  return (thrown: unknown, req, res, next) => {
    const requestId = requestIdOf(req.headers);
    if (res.headersSent) return next(thrown);
    const error = thrown instanceof AppError ? thrown : (clientFault(thrown) ?? AppError.from(thrown));
    if (statusOf(error.code) !== 500) return sendError(res, error.code, error.message, requestId);
    onUnforeseen(error, requestId);
    sendError(res, 'internal', 'Llamastead failed to answer this; its log says why.', requestId);
  };
}

function clientFault(thrown: unknown): AppError | null {
  const parsed = HttpError.safeParse(thrown);
  if (!parsed.success || parsed.data.status >= 500) return null;
  const { type, message, limit } = parsed.data;
  if (type === 'entity.too.large') {
    return new AppError('body_too_large', `The body is larger than ${limit ?? 0} bytes.`, { cause: thrown });
  }
  return new AppError('invalid_request', message, { cause: thrown });
}
