/**
 * Builders of components that several entities share. Pure.
 */
import type { Button, NumberEntity, Sensor } from './components.ts';

/** Where the entities of one device read and write, and what their ids start with. */
export interface Scope {
  /** Of unique ids. */
  readonly id: string;
  /** Of entity ids: `[a-z0-9_]+`. */
  readonly entity: string;
  readonly state: string;
  readonly availability: string;
  command(key: string): string;
}

type SensorExtras = Partial<Omit<Sensor, 'platform' | 'unique_id' | 'default_entity_id' | 'name'>>;

export function sensor(scope: Scope, key: string, name: string, extras: SensorExtras): Sensor {
  return { platform: 'sensor', ...common(scope, 'sensor', key, name), ...reads(scope, key), ...extras };
}

export function memory(scope: Scope, key: string, name: string): Sensor {
  return sensor(scope, key, name, {
    device_class: 'data_size',
    unit_of_measurement: 'GiB',
    state_class: 'measurement',
    suggested_display_precision: 1,
  });
}

export function counter(scope: Scope, key: string, name: string, icon: string): Sensor {
  return sensor(scope, key, name, { state_class: 'total_increasing', entity_category: 'diagnostic', icon });
}

/** Moves often and tells little: off until someone wants it. */
export function gauge(scope: Scope, key: string, name: string): Sensor {
  return sensor(scope, key, name, {
    state_class: 'measurement',
    entity_category: 'diagnostic',
    enabled_by_default: false,
  });
}

export function button(scope: Scope, key: string, name: string): Button {
  return { platform: 'button', ...common(scope, 'button', key, name), command_topic: scope.command(key) };
}

type NumberExtras = Pick<NumberEntity, 'device_class' | 'unit_of_measurement' | 'max' | 'step'>;

export function number(scope: Scope, key: string, name: string, extras: NumberExtras): NumberEntity {
  return {
    platform: 'number',
    ...common(scope, 'number', key, name),
    ...reads(scope, key),
    command_topic: scope.command(key),
    min: 0,
    mode: 'box',
    entity_category: 'config',
    ...extras,
  };
}

export function reads(scope: Scope, key: string) {
  return { state_topic: scope.state, value_template: `{{ value_json.${key} }}` };
}

export function common(scope: Scope, platform: string, key: string, name: string) {
  return { ...named(scope, platform, key, name), availability_topic: scope.availability };
}

/** For entities that stay available when the home is not. */
export function named(scope: Scope, platform: string, key: string, name: string) {
  return {
    unique_id: `${scope.id}_${key}`,
    default_entity_id: `${platform}.${scope.entity}_${key}`,
    name,
  };
}
