/** The keys of the service itself: address, security, memory, queue, failover, shutdown. */
import { z } from 'zod';
import {
  absolutePath,
  choice,
  duration,
  durationOr,
  host,
  secret,
  section,
  size,
  sizeOr,
  text,
  uniqueList,
  wholeNumber,
} from './leaves.ts';

const HOST_NAME = /^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*$/i;

export const listenSchema = z
  .strictObject(
    {
      host: host().default('0.0.0.0').meta({ description: 'Address to listen on.' }),
      port: wholeNumber(0, 65_535)
        .default(11_535)
        .meta({ description: 'Port of the model API, the page and the admin API; 0 takes a free one.' }),
      url: text('auto, or a URL such as http://nas.local:11535', /^(auto|https?:\/\/[^\s@?#]+)$/)
        .default('auto')
        .meta({
          description:
            "The page's address for others at home, linked from Home Assistant; `auto` finds it, but not from within a container.",
          examples: ['http://nas.local:11535'],
        }),
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
      depth: wholeNumber(0, 10_000)
        .default(32)
        .meta({ description: 'Requests that may wait for one model.' }),
      deadline: duration().prefault('300s').meta({
        description: 'How long one may wait until it is served, where its client names no deadline.',
      }),
    },
    section,
  )
  .prefault({})
  .meta({ description: 'Requests over capacity.' });

export const failoverSchema = z
  .strictObject(
    {
      resume: choice(['never', 'same-file', 'any']).default('same-file').meta({
        description:
          'Whether another instance may continue a plain text that had begun; `any`: also one with another model file.',
      }),
      firstToken: durationOr('auto').prefault('auto').meta({
        description: 'How long an instance may take to the first content; `auto` goes by its measured speed.',
      }),
      stall: duration()
        .prefault('60s')
        .meta({ description: 'How long content may pause before it counts as a failure; not on the CPU.' }),
      silence: duration(1000).prefault('30s').meta({
        description:
          'Silence after which an instance is asked for a sign of life; without one for as long again it counts as frozen.',
      }),
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
