// npm leaves out of package-lock.json the optional packages of other platforms that a registry does not hold, and then
// `npm ci` refuses the file. Run this after each change of dependencies: it adds them by name and version.
import { readFileSync, writeFileSync } from 'node:fs';

const systems = {
  android: 'android',
  darwin: 'darwin',
  freebsd: 'freebsd',
  linux: 'linux',
  win32: 'win32',
  windows: 'win32',
  openharmony: 'openharmony',
};
const processors = ['arm64', 'x64', 'arm', 'ia32', 'ppc64', 'riscv64', 's390x'];

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
for (const [path, { optionalDependencies = {} }] of Object.entries({ ...lock.packages })) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    if (lock.packages[`node_modules/${name}`] || lock.packages[`${path}/node_modules/${name}`]) continue;
    const words = name.split(/[-/]/);
    const system = Object.keys(systems).find((word) => words.includes(word));
    const processor = processors.find((word) => words.includes(word));
    lock.packages[`node_modules/${name}`] = {
      version,
      ...(processor && { cpu: [processor] }),
      dev: true,
      optional: true,
      ...(system && { os: [systems[system]] }),
    };
    console.log(`added ${name}@${version}`);
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
