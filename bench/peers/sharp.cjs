// sharp, on one thread and without its cache. Finds sharp by NODE_PATH.
//
//   node sharp.cjs IN OUT SIDE QUALITY   makes one square and ends
//   node sharp.cjs                       answers one line of JSON with another until its input ends

const sharp = require('sharp');
sharp.concurrency(1);
sharp.cache(false);

/** `optimise` is sharp's default: Huffman tables made for the picture, smaller and slower. */
const jpeg = (picture, { quality, optimise = true }) => picture.jpeg({ quality, optimiseCoding: optimise });

const square = (job) => jpeg(sharp(job.file).autoOrient().resize(job.side, job.side), job);

/** Pixels that are read again and again without another decode. */
async function decoded(picture) {
  const { data, info } = await picture.raw().toBuffer({ resolveWithObject: true });
  return () => sharp(data, { raw: { width: info.width, height: info.height, channels: info.channels } });
}

/** Squares and whole pictures from one decode, each from the next larger, which never becomes a file in between. */
async function masters(job) {
  let bytes = 0;
  const photo = await decoded(sharp(job.file).autoOrient());
  for (const [sides, fit] of [[job.sides, 'cover'], [job.fits, 'inside']]) {
    let picture = photo;
    for (const side of sides) {
      picture = await decoded(picture().resize(side, side, { fit }));
      bytes += (await jpeg(picture(), job).toBuffer()).length;
    }
  }
  return bytes;
}

const work = {
  square: async (job) => (await square(job).toBuffer()).length,
  masters,
  version: async () => 0,
};

async function answer(line) {
  try {
    const job = JSON.parse(line);
    const before = process.cpuUsage();
    const bytes = await work[job.do](job);
    const { user, system } = process.cpuUsage(before);
    return { cpu_us: user + system, bytes, version: `${sharp.versions.sharp} (libvips ${sharp.versions.vips})` };
  } catch (error) {
    return { error: String(error.message ?? error) };
  }
}

async function main([file, out, side, quality]) {
  if (file) {
    await square({ file, side: Number(side), quality: Number(quality) }).toFile(out);
    return;
  }
  for await (const line of require('readline').createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await answer(line)) + '\n');
  }
}

main(process.argv.slice(2));
