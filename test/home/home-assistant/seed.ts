import { createHmac, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOME_ASSISTANT_VERSION } from './image.ts';

/** Who a person signs in as. */
export const LOGIN = { username: 'bench', password: 'bench-pass-1' };
/** The password above as Home Assistant keeps it: bcrypt, in base64. */
const PASSWORD_HASH = 'JDJiJDEyJFM0QW5BMFouZk82QmVwRUR4d1h6eS5UNGp2b0xWZ3h4QVprN2xueUZLckZTWFVpRzBzNnRh';
const TEN_YEARS = 315_360_000;

export interface Seed {
  readonly port: number;
  /** automations.yaml; JSON is YAML. */
  readonly automations: readonly unknown[];
}

/**
 * Fills a new configuration folder so that Home Assistant starts without its questions to a new user.
 * @returns a token for its API, valid for ten years
 */
export function seedHomeAssistant(folder: string, seed: Seed): string {
  const storage = join(folder, '.storage');
  mkdirSync(storage, { recursive: true });
  const put = (key: string, version: number, data: unknown) =>
    writeFileSync(join(storage, key), JSON.stringify({ version, minor_version: 1, key, data }));
  const now = new Date().toISOString();
  put('onboarding', 4, { done: ['user', 'core_config', 'analytics', 'integration'] });
  put('http', 3, { stable: httpSettings(seed.port, now), pending: null, yaml_migration_done: true });
  put('auth_provider.homeassistant', 1, { users: [{ username: LOGIN.username, password: PASSWORD_HASH }] });
  const refresh = { id: hex(16), jwtKey: hex(32) };
  put('auth', 1, accounts(refresh, now));
  writeFileSync(join(folder, 'configuration.yaml'), CONFIGURATION);
  writeFileSync(join(folder, 'automations.yaml'), JSON.stringify(seed.automations));
  return token(refresh);
}

/** Without `http:`: in this file it would count as a trial that ends in a restart after five minutes. */
const CONFIGURATION = `
homeassistant: {name: Bench, latitude: 52.0, longitude: 5.0, elevation: 0, unit_system: metric, time_zone: UTC, country: NL, language: en, currency: EUR}
logger: {default: warning, logs: {homeassistant.components.mqtt: info}}
recorder: {commit_interval: 0}
history:
logbook:
assist_pipeline:
automation: !include automations.yaml
`;

function httpSettings(port: number, now: string) {
  return {
    server_port: port,
    cors_allowed_origins: [],
    login_attempts_threshold: -1,
    ip_ban_enabled: false,
    ssl_profile: 'intermediate_v6',
    use_x_frame_options: true,
    created_at: now,
    error: null,
    error_message: null,
  };
}

function accounts(refresh: { id: string; jwtKey: string }, now: string) {
  const user = hex(16);
  const group = (id: string, name: string) => ({ id, name });
  return {
    users: [
      {
        ...{ id: user, group_ids: ['system-admin'], is_owner: true, is_active: true, name: 'Bench' },
        ...{ system_generated: false, local_only: false },
      },
    ],
    groups: [
      group('system-admin', 'Administrators'),
      group('system-users', 'Users'),
      group('system-read-only', 'Read Only'),
    ],
    credentials: [
      {
        ...{ id: hex(16), user_id: user, auth_provider_type: 'homeassistant', auth_provider_id: null },
        data: { username: LOGIN.username },
      },
    ],
    refresh_tokens: [
      {
        ...{ id: refresh.id, user_id: user, client_id: null, client_name: 'bench', client_icon: null },
        ...{ token_type: 'long_lived_access_token', created_at: now, access_token_expiration: TEN_YEARS },
        ...{ token: hex(64), jwt_key: refresh.jwtKey, last_used_at: null, last_used_ip: null },
        ...{ expire_at: null, credential_id: null, version: HOME_ASSISTANT_VERSION },
      },
    ],
  };
}

/** Signed as Home Assistant signs its own long-lived tokens: HS256 over the refresh token's key. */
function token(refresh: { id: string; jwtKey: string }): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const issued = Math.floor(Date.now() / 1000);
  const body = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ iss: refresh.id, iat: issued, exp: issued + TEN_YEARS })}`;
  return `${body}.${createHmac('sha256', refresh.jwtKey).update(body).digest('base64url')}`;
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}
