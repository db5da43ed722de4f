import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { z } from 'zod';
import { announcements } from '../../app/adapters/mqtt/discovery.ts';
import { topicsOf } from '../../app/adapters/mqtt/topics.ts';
import { TOLD_TYPES } from '../../app/core/facts.ts';
import { homeView } from '../adapters/mqtt/support/views.ts';

const folder = resolve(import.meta.dirname, '../../hassio/blueprints/automation/llamastead');
const input = z.object({
  name: z.string(),
  selector: z.record(z.string(), z.unknown()),
  default: z.unknown().optional(),
});
const blueprint = z.object({
  blueprint: z.object({
    name: z.string(),
    description: z.string(),
    domain: z.literal('automation'),
    homeassistant: z.object({ min_version: z.string().regex(/^\d{4}\.\d+\.\d+$/) }),
    input: z.record(z.string(), input),
  }),
  triggers: z.array(z.unknown()),
  variables: z.record(z.string(), z.string()),
});
const INPUT = { tag: '!input', resolve: (name: string) => `!input ${name}` };

function read(file: string) {
  const text = readFileSync(join(folder, file), 'utf8');
  return { text, content: blueprint.parse(parse(text, { customTags: [INPUT] })) };
}

describe('blueprints', () => {
  for (const file of globSync('*.yaml', { cwd: folder })) {
    it(`${file} has the form that Home Assistant wants, and uses every input that it asks for`, () => {
      const { text, content } = read(file);
      const used = new Set([...text.matchAll(/!input (\w+)/g)].map((match) => match[1]));
      assert.deepEqual(new Set(Object.keys(content.blueprint.input)), used);
    });
  }

  it('of the failover alert offer only types of event that there are, and know every reason', () => {
    const { content } = read('failover_alert.yaml');
    const types = content.blueprint.input['event_types'];
    const { select } = z
      .object({ select: z.object({ options: z.array(z.object({ value: z.enum(TOLD_TYPES) })) }) })
      .parse(types?.selector);
    const offered = select.options.map((option) => option.value);
    for (const type of z.array(z.string()).parse(types?.default))
      assert.ok(offered.some((known) => known === type));
    for (const type of offered) assert.match(content.variables['title'] ?? '', new RegExp(`'${type}':`));
    for (const reason of reasons())
      assert.match(content.variables['reason_text'] ?? '', new RegExp(`'${reason}':`));
  });
});

/** Every reason but `unknown`, as the sensor for it has them. */
function reasons(): readonly string[] {
  const context = { prefix: 'homeassistant', instance: 'home', version: '0', pageUrl: null };
  const [home] = announcements(homeView(), { ...context, topics: topicsOf('llamastead', 'home') });
  const component = home?.document.components['last_failover_reason'];
  const options = component !== undefined && 'options' in component ? component.options : [];
  return options.filter((reason) => reason !== 'unknown');
}
