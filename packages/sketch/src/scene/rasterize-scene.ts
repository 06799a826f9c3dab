/** Rasterizes a scene so that it covers the image to its edges. */
import { type Raster, rasterize, type Sharp } from "../raster/raster.ts";
import { type Scene, sceneToSvg } from "./scene.ts";

/**
 * The view box is rounded to a tenth of a unit, so its aspect ratio can differ a little from that of the image, as at
 * 512x384. "meet", the default of SVG, would leave a nearly transparent line at the edges, and an opaque scene would
 * count as transparent; "slice" covers the image.
 */
export const rasterizeScene = (
  sharp: Sharp,
  scene: Scene,
  width: number,
  height: number,
  layers = scene.layers,
): Promise<Raster> => {
  const attributes = { preserveAspectRatio: "xMidYMid slice" };
  return rasterize(sharp, sceneToSvg(scene, width, height, { layers, attributes }), width, height);
};
