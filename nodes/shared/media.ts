/** What the service makes, and the streamed calls that make it (§4.5–4.8). */

/** By kind: the type of a file that does not show its own. */
export const MIME_TYPES = { speech: 'audio/mpeg', video: 'video/mp4', image: 'image/png' } as const;

export type MediaKind = keyof typeof MIME_TYPES;

export interface FileType {
	mimeType: string;
	extension: string;
}

/** `withImages`: images are part of the request, so that its prompt alone says little. */
export const GENERATIONS = {
	textToVideo: { path: '/v1/video/text-to-video', makes: 'video', withImages: false },
	ingredientsToVideo: { path: '/v1/video/ingredients-to-video', makes: 'video', withImages: true },
	framesToVideo: { path: '/v1/video/frames-to-video', makes: 'video', withImages: true },
	image: { path: '/v1/video/create-image', makes: 'image', withImages: false },
} as const satisfies Record<string, { path: string; makes: MediaKind; withImages: boolean }>;

export type Generation = keyof typeof GENERATIONS;
