import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseCommand } from '../../../app/adapters/mqtt/commands.ts';
import { fc } from '../../support/property.ts';

const asked = (key: string, payload: string) => {
  const parsed = parseCommand(key, payload, false);
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.error);
  return parsed.asked;
};
const error = (key: string, payload: string, oneModel = false) => {
  const parsed = parseCommand(key, payload, oneModel);
  assert.ok(!parsed.ok);
  return parsed.error;
};

describe('a command', () => {
  it('is read from plain text', () => {
    assert.deepEqual(asked('mode', 'cpu'), { set: 'mode', value: 'cpu' });
    assert.deepEqual(asked('load', 'PRESS'), { do: 'load' });
    assert.deepEqual(asked('unload', 'PRESS\n'), { do: 'unload' });
    assert.deepEqual(asked('restart', 'PRESS'), { do: 'restart' });
    assert.deepEqual(asked('drill', 'PRESS'), { do: 'drill', scenario: 'kill' });
    assert.deepEqual(asked('drill', 'gpu-gone'), { do: 'drill', scenario: 'gpu-gone' });
    assert.deepEqual(asked('keep_loaded', 'ON'), { set: 'keep_loaded', value: true });
    assert.deepEqual(asked('keep_loaded', 'OFF'), { set: 'keep_loaded', value: false });
    assert.deepEqual(asked('idle_unload', '10'), { set: 'idle_unload', value: 600 });
    assert.deepEqual(asked('idle_unload', '0.001'), { set: 'idle_unload', value: 1 });
    assert.deepEqual(asked('idle_unload', '0'), { set: 'idle_unload', value: null });
    assert.deepEqual(asked('ram_budget', '7.5'), { set: 'ram_budget', value: 7.5 * 1024 ** 3 });
  });

  it('that is wrong is refused with key, value and what was expected', () => {
    assert.equal(error('mode', 'turbo'), 'mode: got "turbo", expected one of auto, gpu, cpu, off');
    assert.equal(error('keep_loaded', 'true'), 'keep_loaded: got "true", expected ON or OFF');
    assert.equal(error('load', ''), 'load: got "", expected PRESS');
    assert.match(error('idle_unload', '1e9'), /^idle_unload: got "1e9", expected minutes from 0 \(never\)/);
    assert.match(error('ram_budget', '0x10'), /got "0x10", expected GiB/);
    assert.match(error('ram_budget', '-1'), /got "-1"/);
  });

  it('with an unknown key names those that there are', () => {
    assert.match(error('moed', 'cpu'), /^unknown key "moed": expected one of mode, load, unload/);
    assert.match(error('toString', 'x'), /^unknown key "toString"/);
  });

  it('for one model does not take what belongs to the host', () => {
    assert.match(error('ram_budget', '6', true), /^unknown key "ram_budget"/);
    assert.doesNotMatch(error('ram_budget', '6', true), /, ram_budget/);
  });

  it('of any length and content never throws, and its error stays short', () => {
    const keys = fc.constantFrom('mode', 'load', 'keep_loaded', 'idle_unload', 'ram_budget', '__proto__');
    fc.assert(
      fc.property(
        fc.oneof(keys, fc.string()),
        fc.string({ maxLength: 300 }),
        fc.boolean(),
        (key, payload, one) => {
          const parsed = parseCommand(key, payload, one);
          assert.ok(parsed.ok || parsed.error.length < 1000);
        },
      ),
    );
  });
});
