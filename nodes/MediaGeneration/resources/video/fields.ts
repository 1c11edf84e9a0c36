/** Default of `Timeout` for every video operation. */
export const VIDEO_TIMEOUT_SECONDS = 1800;
