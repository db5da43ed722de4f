/** The rules of the store's validator, and what its app pages need. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import pkg from '../../package.json' with { type: 'json' };
import { pngSize } from './image-size.ts';

const STORE = join(import.meta.dirname, '../../casaos');
const APP = join(STORE, 'Apps/Llamastead');
const LOCALES = ['en_US', 'ko_KR', 'zh_CN'];

interface Described {
  readonly container: string;
  readonly description: Record<string, string>;
}
interface Service {
  readonly image: string;
  readonly privileged?: boolean;
  readonly ports: readonly { readonly target: number; readonly published: string }[];
  readonly volumes: readonly {
    readonly source: string;
    readonly target: string;
    readonly bind?: { readonly create_host_path: boolean; readonly propagation: string };
  }[];
  readonly 'x-casaos': Readonly<Record<'envs' | 'ports' | 'volumes', readonly Described[]>>;
}
interface App {
  readonly name: string;
  readonly services: Record<string, Service>;
  readonly 'x-casaos': Record<string, unknown> & {
    readonly title: Record<string, string>;
    readonly tagline: Record<string, string>;
    readonly description: Record<string, string>;
    readonly tips: { readonly before_install: Record<string, string> };
    readonly screenshot_link: readonly string[];
  };
}

const app = parse(readFileSync(join(APP, 'docker-compose.yml'), 'utf8')) as App;
const store = app['x-casaos'];
const service = app.services['llamastead'];

describe('the store', () => {
  test('names itself in every language that it supports', () => {
    const config = JSON.parse(readFileSync(join(STORE, 'store-config.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    const languages = JSON.parse(readFileSync(join(STORE, 'supported-languages.json'), 'utf8')) as string[];
    assert.equal(config['version'], 2);
    assert.deepEqual(languages, LOCALES);
    for (const key of ['name', 'description']) assert.deepEqual(Object.keys(config[key] as object), LOCALES);
    for (const key of ['store_id', 'maintainer', 'url']) assert.equal(typeof config[key], 'string', key);
  });
});

describe('the app', () => {
  test('has a name, an id and a category that the validator takes', () => {
    assert.match(app.name, /^[a-z0-9_-]+$/);
    assert.match(String(store['id']), /^[a-z0-9-]+(\.[a-z0-9-]+)+$/);
    const categories = [
      'Media',
      'Productivity',
      'Home',
      'Networking',
      'AI',
      'Finance',
      'Social',
      'Developer',
      'Others',
    ];
    assert.ok(categories.includes(String(store['category'])));
  });

  test('has every required key, and its main service is there', () => {
    for (const key of ['id', 'main', 'index', 'port_map', 'icon', 'title', 'version', 'category']) {
      assert.ok(store[key] !== undefined, key);
    }
    assert.ok(app.services[String(store['main'])] !== undefined);
    assert.equal(typeof store['port_map'], 'string');
    assert.ok(service?.ports.some(({ published }) => published === store['port_map']));
  });

  test('has the version of the package, and an image pinned to it', () => {
    assert.equal(store['version'], pkg.version);
    assert.match(service?.image ?? '', new RegExp(`:${pkg.version.replaceAll('.', '\\.')}$`));
  });

  test('speaks every language of the store', () => {
    const texts = [store.title, store.tagline, store.description, store.tips.before_install];
    const described = Object.values(service?.['x-casaos'] ?? {}).flat();
    for (const text of [...texts, ...described.map(({ description }) => description)]) {
      assert.deepEqual(Object.keys(text).sort(), LOCALES);
      for (const words of Object.values(text)) assert.ok(words.trim().length > 0);
    }
  });

  test('describes each port and volume that it has', () => {
    const described = service?.['x-casaos'];
    assert.deepEqual(
      described?.ports.map(({ container }) => container),
      service?.ports.map(({ target }) => String(target)),
    );
    assert.deepEqual(
      described?.volumes.map(({ container }) => container),
      service?.volumes.map(({ target }) => target),
    );
  });

  test('keeps models where a removal of the app leaves them, and asks for no GPU of its own', () => {
    const models = service?.volumes.find(({ target }) => target === '/models');
    assert.equal(models?.source, '/DATA/LLM/models');
    // The store's engine makes a missing folder only where the file asks for it.
    assert.deepEqual(models?.bind, { create_host_path: true, propagation: 'rslave' });
    assert.equal(service?.privileged, undefined);
    assert.equal(JSON.stringify(app).includes('"devices"'), false);
  });

  test('brings its pictures in the sizes that the store shows', () => {
    assert.ok(existsSync(join(APP, String(store['icon']))));
    assert.deepEqual(pngSize(join(APP, 'icon.png')), { width: 256, height: 256 });
    assert.deepEqual(pngSize(join(APP, 'thumbnail.png')), { width: 784, height: 442 });
    for (const link of store.screenshot_link) {
      assert.deepEqual(pngSize(join(APP, link)), { width: 1280, height: 720 }, link);
    }
  });
});
