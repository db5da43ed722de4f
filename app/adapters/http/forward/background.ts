/**
 * Which requests nobody waits for: chat pages ask for a title, tags and follow-up questions after each answer,
 * with the same model. They are told by what the pages document or publish. Calls that an answer waits for
 * (search queries, tool selection, completion while typing) are not among them.
 */
import type { IncomingHttpHeaders } from 'node:http';

interface Marker {
  readonly app: string;
  readonly work: string;
  /** Which text of the request: its system prompt, or its last message of the user. */
  readonly where: 'system' | 'user';
  /** How that text begins. */
  readonly begins: string;
}

/** The published default prompts. A user who changes them can set a header instead. */
export const MARKERS: readonly Marker[] = [
  {
    app: 'Open WebUI',
    work: 'title',
    where: 'user',
    begins: '### Task:\nGenerate a concise, 3-5 word title',
  },
  {
    app: 'Open WebUI, before 0.5',
    work: 'title',
    where: 'user',
    begins: 'Create a concise, 3-5 word title with an emoji',
  },
  {
    app: 'Open WebUI',
    work: 'tags',
    where: 'user',
    begins: '### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history',
  },
  {
    app: 'Open WebUI',
    work: 'follow-up questions',
    where: 'user',
    begins: '### Task:\nSuggest 3-5 relevant follow-up questions',
  },
  {
    app: 'LibreChat',
    work: 'title',
    where: 'user',
    begins: 'Provide a concise, 5-word-or-less title for the conversation',
  },
  {
    app: 'LibreChat',
    work: 'title',
    where: 'user',
    begins:
      'Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title',
  },
  {
    app: 'Chatbox',
    work: 'title',
    where: 'user',
    begins: 'Based on the chat history, give this conversation a name.',
  },
  {
    app: 'OpenCode',
    work: 'title',
    where: 'system',
    begins: 'You are a title generator. You output ONLY a thread title.',
  },
];

/** Open WebUI from 0.10 on tells the task by this header, if its connection is given `{{TASK}}` for it. */
const TASK_HEADER = 'x-openwebui-task';
const BACKGROUND_TASKS = new Set(['title_generation', 'tags_generation', 'follow_up_generation']);

const PRIORITY_HEADER = 'llamastead-priority';
const PRIORITIES = ['background', 'normal'] as const;

/** What `Llamastead-Priority` says; null: nothing; undefined: a word that it does not have. */
export function givenPriority(headers: IncomingHttpHeaders): (typeof PRIORITIES)[number] | null | undefined {
  const given = headers[PRIORITY_HEADER];
  if (given === undefined) return null;
  return PRIORITIES.find((word) => word === String(given).trim().toLowerCase());
}

/** Whether it is background work. The client's own word decides; else the page's header, else its prompt. */
export function isBackground(headers: IncomingHttpHeaders, body: Readonly<Record<string, unknown>>): boolean {
  const given = givenPriority(headers);
  if (given) return given === 'background';
  const task = headers[TASK_HEADER];
  if (typeof task === 'string' && task !== '') return BACKGROUND_TASKS.has(task);
  return hasMarker(body);
}

function hasMarker(body: Readonly<Record<string, unknown>>): boolean {
  const { messages } = body;
  if (!Array.isArray(messages)) return false;
  const texts = { user: openingOf(messages, 'user'), system: openingOf(messages, 'system') };
  return MARKERS.some(({ where, begins }) => texts[where].startsWith(begins));
}

/** The last message of the user, the first one of the system. */
function openingOf(messages: readonly unknown[], role: 'user' | 'system'): string {
  const found = role === 'user' ? messages.findLast(hasRole(role)) : messages.find(hasRole(role));
  const { content } = (found ?? {}) as { readonly content?: unknown };
  const first = Array.isArray(content) ? (content[0] as { readonly text?: unknown } | null)?.text : content;
  return typeof first === 'string' ? first.trimStart() : '';
}

function hasRole(role: string): (message: unknown) => boolean {
  return (message) =>
    typeof message === 'object' && message !== null && 'role' in message && message.role === role;
}
