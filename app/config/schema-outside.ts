/** The keys for MQTT and schedules. */
import { z } from 'zod';
import { RUN_SCENARIOS } from '../core/drill.ts';
import { cronProblem } from './cron-form.ts';
import { choice, host, name, secret, section, slug, text, wholeNumber, yesNo } from './leaves.ts';

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
      scenario: choice(RUN_SCENARIOS).optional().meta({ description: 'The scenario, for `do: drill`.' }),
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
  .meta({
    description:
      'What is done at certain times of `timezone`. A time that the clocks skip in spring counts an hour later, one that comes twice in autumn the first time; up to an hour slept through is made up for.',
  });
