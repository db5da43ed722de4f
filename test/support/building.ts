/** For a hook that builds an image on a fresh machine: Home Assistant's took six minutes. */
export const BUILDING = { timeout: 1_200_000 };
