/** esbuild bundles the style sheets that a module imports. */
declare module "*.css";
