/**
 * Why an engine can't be used, and what to do: for people.
 */
import type { Problem } from '../../core/types.ts';
import type { AppError } from '../../errors.ts';

const NOT_FOUND = 404;

/**
 * `error` is a `docker_unreachable`, `docker_refused` or `docker_too_old`; `group`: number of the group that may use the
 * socket, where there is one.
 */
export function engineProblem(
  engine: string,
  socket: string,
  error: AppError,
  group: number | null = null,
): Problem {
  const params = { engine, socket, detail: error.message, ...(group === null ? {} : { group }) };
  const { code, text, fix } = words(engine, socket, error, group);
  return { code, text, fix, params };
}

function words(
  engine: string,
  socket: string,
  error: AppError,
  group: number | null,
): Omit<Problem, 'params'> {
  if (error.code === 'docker_too_old') {
    return {
      code: 'docker_too_old',
      text: `The Docker engine "${engine}" is too old: ${error.message}.`,
      fix: 'Update Docker to 20.10 or later.',
    };
  }
  if (error.code === 'already_running') {
    return {
      code: 'second_controller',
      text: `The Docker engine "${engine}" is not used, for there is another controller: ${error.message}.`,
      fix: 'Stop one of the two, or give one another name under mqtt.instance.',
    };
  }
  switch (error.details['system']) {
    case 'ENOENT':
      return {
        code: 'docker_socket_missing',
        text: `Docker's socket ${socket} is not there.`,
        fix: `Mount it into Llamastead's container (-v /var/run/docker.sock:${socket}), or name the right one in engines.${engine}.socket.`,
      };
    case 'EACCES':
    case 'EPERM':
      return {
        code: 'docker_socket_forbidden',
        text: `Llamastead may not use Docker's socket ${socket}: permission denied.`,
        fix:
          group === null
            ? 'Run Llamastead as root (no user: in the compose file), or give its user permission on the socket.'
            : `Run Llamastead as root (no user: in the compose file), or give it the socket's group: group_add: ["${group}"].`,
      };
    case 'ECONNREFUSED':
      return {
        code: 'docker_not_running',
        text: `Docker's socket ${socket} is there, but no Docker answers on it.`,
        fix: 'Start Docker on the host (systemctl start docker). After a reinstall of Docker restart Llamastead, so that it gets the new socket.',
      };
    case 'ETIMEDOUT':
      return {
        code: 'docker_not_answering',
        text: `The Docker engine "${engine}" does not answer: ${error.message}.`,
        fix: 'Look whether the host is out of memory or its disk hangs; restart Docker if it stays so.',
      };
    default:
      return {
        code: 'docker_failed',
        text: `The Docker engine "${engine}" on ${socket} can't be used: ${error.message}.`,
        fix: 'Look into the log of the Docker service (journalctl -u docker).',
      };
  }
}

/** Null where the error is another one. */
export function imageMissing(error: AppError, engine: string): Problem | null {
  const image = /no such image: (\S+)/i.exec(error.message)?.[1];
  if (image === undefined || error.details['status'] !== NOT_FOUND) return null;
  return imageProblem(image, engine);
}

export function imageProblem(image: string, engine: string): Problem {
  return {
    code: 'image_missing',
    about: image,
    text: `The image ${image} is not on the engine "${engine}".`,
    fix: `Pull it: docker pull ${image}`,
    params: { image, engine },
  };
}

export function holderFailed(detail: string): Problem {
  return {
    code: 'holder_failed',
    text: `The network for the instances could not be made: ${detail}.`,
    fix: 'Look whether Docker can still make networks and containers (docker network ls, docker system df).',
    params: { detail },
  };
}

export function modelsNotShared(text: string): Problem {
  const fix = 'Mount a host folder or a volume at the models folder of the Llamastead container.';
  return { code: 'models_not_shared', text, fix };
}
