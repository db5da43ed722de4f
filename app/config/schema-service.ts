/** The keys of the service itself: address, security, memory, queue, failover, MQTT, schedules. */
import { z } from 'zod';
import { cronProblem } from './cron-form.ts';
import {
  absolutePath,
  choice,
  duration,
  durationOr,
  name,
  secret,
  size,
  sizeOr,
  slug,
  text,
  uniqueList,
  wholeNumber,
  yesNo,
} from './leaves.ts';

const section = { error: 'a section' };
const host = () => text('a host name or an address', /^[^\s/]+$/);
const HOST_NAME = /^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*$/i;

export const listenSchema = z
  .strictObject(
    {
      host: host().default('0.0.0.0').meta({ description: 'Address to listen on.' }),
      port: wholeNumber(0, 65_535)
        .default(11_535)
        .meta({ description: 'Port of the model API, the page and the admin API; 0 takes a free one.' }),
    },
    section,
  )
  .prefault({})
  .meta({ description: 'The one address.' });

export const securitySchema = z
  .strictObject(
    {
      adminToken: secret().nullable().default(null).meta({
        description: 'Token that locks the page and the admin API; `null`: open on the LAN.',
      }),
      apiKeys: z
        .array(secret(), { error: 'a list of secrets' })
        .default([])
        .meta({ description: 'Keys of the model API; an empty list: open on the LAN.' }),
      allowedHosts: uniqueList(
        text('a host name, such as ai.example.com or *.example.com', HOST_NAME),
        'a list of host names',
      )
        .default([])
        .meta({
          description: 'Host names beside those of a home network by which browsers may open the page.',
          examples: [['ai.example.com']],
        }),
    },
    section,
  )
  .prefault({})
  .meta({ description: 'Who may do what.' });

export const pathsSchema = z
  .strictObject(
    {
      models: absolutePath().default('/models').meta({ description: 'The models folder.' }),
      state: absolutePath().default('/data').meta({ description: 'Where Llamastead keeps its own files.' }),
      modelsOnHost: z
        .union([z.literal('auto'), absolutePath()], { error: 'auto, or an absolute path' })
        .default('auto')
        .meta({ description: 'The models folder as Docker sees it; `auto` reads it from our own mounts.' }),
    },
    section,
  )
  .prefault({})
  .meta({ description: 'Folders.' });

export const memorySchema = z
  .strictObject(
    {
      reserve: sizeOr('auto').prefault('auto').meta({
        description: 'RAM kept for the NAS services; `auto` is the larger of 2 GiB and 10 %.',
      }),
      budget: sizeOr('auto').prefault('auto').meta({
        description: 'RAM that models may take together; `auto` is the total less the reserve.',
      }),
      services: uniqueList(text('the name of a container', /^[\w.-]+$/), 'a list of containers')
        .default([])
        .meta({
          description: 'Containers to watch as NAS services; an empty list: every one that is not ours.',
          noEffectYet: true,
        }),
    },
    section,
  )
  .prefault({})
  .meta({ description: 'Memory of the machine.' });

export const queueSchema = z
  .strictObject(
    {
      depth: wholeNumber(0, 10_000).default(32).meta({ description: 'Requests that may wait.' }),
      deadline: duration()
        .prefault('300s')
        .meta({ description: 'How long one may wait until it is served.' }),
    },
    section,
  )
  .prefault({})
  .meta({ description: 'Requests over capacity.' });

export const failoverSchema = z
  .strictObject(
    {
      resume: choice(['never', 'same-file', 'any']).default('same-file').meta({
        description: 'Whether another instance may continue an answer that had begun.',
        noEffectYet: true,
      }),
      firstToken: durationOr('auto').prefault('auto').meta({
        description: 'How long an instance may take to the first content; `auto` goes by its measured speed.',
      }),
      stall: duration()
        .prefault('60s')
        .meta({ description: 'How long content may pause before it counts as a failure.' }),
      returnAfter: duration()
        .prefault('30s')
        .meta({ description: 'When a placement that failed is tried again.' }),
      streamKeepalive: duration().prefault('10s').meta({
        description: 'Silence after which a waiting stream gets its head and comments.',
      }),
      connect: duration()
        .prefault('250ms')
        .meta({ description: 'How long a connection to an instance may take.' }),
    },
    section,
  )
  .prefault({})
  .meta({ description: 'What happens when an instance fails.' });

export const promptStateSchema = z
  .strictObject(
    {
      keep: choice(['off', 'ram', 'disk'])
        .default('disk')
        .meta({ description: 'Where the state of read prompts is kept.', noEffectYet: true }),
      size: size().prefault('2GiB').meta({ description: 'Space for it.', noEffectYet: true }),
      maxAge: duration().prefault('7d').meta({ description: 'When it is deleted.', noEffectYet: true }),
      writesPerDay: size()
        .prefault('8GiB')
        .meta({ description: 'What may be written a day.', noEffectYet: true }),
    },
    section,
  )
  .prefault({})
  .meta({ description: 'Prompts that need not be read again.' });

export const shutdownSchema = z
  .strictObject(
    {
      instances: choice(['stop', 'keep'])
        .default('stop')
        .meta({ description: 'Whether our instances end with Llamastead.' }),
      grace: duration().prefault('25s').meta({ description: 'How long running answers may take to end.' }),
    },
    section,
  )
  .prefault({})
  .meta({ description: 'The end of Llamastead.' });

const TOPIC = /^[^#+\0/]+(\/[^#+\0/]+)*$/;

export const mqttSchema = z
  .strictObject(
    {
      embedded: z
        .strictObject(
          {
            on: yesNo().default(true).meta({ description: 'Whether it runs; with `mqtt.url` it stays off.' }),
            host: host().default('0.0.0.0').meta({ description: 'Address to listen on.' }),
            port: wholeNumber(0, 65_535).default(11_536).meta({ description: 'Port; 0 takes a free one.' }),
            username: text('a user name').default('llamastead').meta({ description: 'User name.' }),
            password: z
              .union([z.literal('auto'), secret()], {
                error: 'auto, a text, or {file: PATH}, or {env: NAME}',
              })
              .default('auto')
              .meta({ description: 'Password; `auto` makes one at the first start.' }),
          },
          section,
        )
        .prefault({})
        .meta({ description: 'The broker inside Llamastead.' }),
      url: text(
        'a URL such as mqtt://192.168.1.10:1883, without user and password',
        /^(mqtts?|wss?):\/\/[^\s@/]+(\/\S*)?$/,
      )
        .nullable()
        .default(null)
        .meta({ description: 'An external broker.', examples: ['mqtt://192.168.1.10:1883'] }),
      username: text('a user name')
        .nullable()
        .default(null)
        .meta({ description: 'User name at the external broker.' }),
      password: secret().nullable().default(null).meta({ description: 'Password at the external broker.' }),
      base: text('a topic without + and #', TOPIC)
        .default('llamastead')
        .meta({ description: 'First part of our topics.' }),
      instance: slug()
        .default('home')
        .meta({ description: 'Name of this home; it is part of topics and container names.' }),
      discovery: text('a topic without + and #', TOPIC)
        .nullable()
        .default('homeassistant')
        .meta({ description: "Home Assistant's discovery prefix; `null`: no discovery." }),
    },
    section,
  )
  .prefault({})
  .meta({ description: 'MQTT and Home Assistant.' });

const SCENARIOS = [
  'kill',
  'oom-load',
  'oom-runtime',
  'long-prompt',
  'second-model',
  'hang',
  'gpu-gone',
  'cancel',
  'concurrent',
  'tools',
  'image',
  'controller-restart',
] as const;

export const scheduleSchema = z
  .strictObject(
    {
      cron: z
        .string({ error: 'a cron line, such as "0 2 * * *"' })
        .superRefine((line, context) => {
          const message = cronProblem(line);
          if (message !== null) context.addIssue({ code: 'custom', message });
        })
        .meta({
          description:
            'When: minute, hour, day of the month, month, day of the week; six fields begin with the second.',
        }),
      do: choice(['load', 'unload', 'mode', 'drill']).meta({ description: 'What.' }),
      model: name().optional().meta({ description: 'Which model; without it all.' }),
      mode: choice(['auto', 'gpu', 'cpu', 'off'])
        .optional()
        .meta({ description: 'The mode, for `do: mode`.' }),
      scenario: choice(SCENARIOS).optional().meta({ description: 'The scenario, for `do: drill`.' }),
    },
    { error: 'a section with at least cron and do' },
  )
  .superRefine((entry, context) => {
    for (const [action, key] of [
      ['mode', 'mode'],
      ['drill', 'scenario'],
    ] as const) {
      if ((entry.do === action) === (entry[key] !== undefined)) continue;
      const message =
        entry.do === action ? `${key}, because of do: ${action}` : `no ${key} unless do: ${action}`;
      context.addIssue({ code: 'custom', path: [key], message });
    }
  });

export const schedulesSchema = z
  .array(scheduleSchema, { error: 'a list of {cron: ..., do: ...}' })
  .default([])
  .meta({ description: 'What is done at certain times.', noEffectYet: true });

export const logSchema = z
  .strictObject(
    {
      level: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .default('info')
        .meta({ description: 'The least level that is logged.' }),
    },
    section,
  )
  .prefault({})
  .meta({ description: 'The log.' });
