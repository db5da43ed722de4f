/**
 * The components of a Home Assistant device document, by platform: only keys that its MQTT integration
 * knows, since an unknown one vanishes there without a word.
 */
interface Common {
  readonly unique_id: string;
  readonly default_entity_id: string;
  /** Without the device's name. */
  readonly name: string;
  readonly icon?: string;
  readonly entity_category?: 'config' | 'diagnostic';
  readonly enabled_by_default?: false;
  readonly availability_topic?: string;
}

interface Reads {
  readonly state_topic: string;
  readonly value_template: string;
}

export interface Sensor extends Common, Reads {
  readonly platform: 'sensor';
  readonly entity_category?: 'diagnostic';
  readonly device_class?: 'enum' | 'data_size' | 'timestamp';
  readonly unit_of_measurement?: string;
  readonly state_class?: 'measurement' | 'total_increasing';
  readonly options?: readonly string[];
  readonly suggested_display_precision?: number;
}

export interface BinarySensor extends Common {
  readonly platform: 'binary_sensor';
  readonly entity_category?: 'diagnostic';
  readonly state_topic: string;
  readonly value_template?: string;
  readonly device_class: 'problem' | 'connectivity';
  readonly payload_on?: string;
  readonly payload_off?: string;
}

export interface EventEntity extends Common {
  readonly platform: 'event';
  readonly state_topic: string;
  readonly event_types: readonly string[];
}

export interface Select extends Common, Reads {
  readonly platform: 'select';
  readonly command_topic: string;
  readonly options: readonly string[];
}

export interface Button extends Common {
  readonly platform: 'button';
  readonly command_topic: string;
  readonly device_class?: 'restart';
}

export interface Switch extends Common, Reads {
  readonly platform: 'switch';
  readonly command_topic: string;
}

export interface NumberEntity extends Common, Reads {
  readonly platform: 'number';
  readonly command_topic: string;
  readonly device_class: 'data_size' | 'duration';
  readonly unit_of_measurement: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly mode: 'box';
}

export type Component = Sensor | BinarySensor | EventEntity | Select | Button | Switch | NumberEntity;

/** What a component is removed by: its platform alone. */
export interface Removed {
  readonly platform: string;
}

/** A device document: one device, all its entities. */
export interface DeviceDocument {
  readonly device: {
    readonly identifiers: readonly string[];
    readonly name: string;
    readonly manufacturer: string;
    readonly model: string;
    readonly sw_version?: string;
    readonly via_device?: string;
    readonly configuration_url?: string;
  };
  readonly origin: { readonly name: string; readonly sw_version: string };
  /** Of every subscription and command. */
  readonly qos: 1;
  readonly components: Readonly<Record<string, Component | Removed>>;
}
