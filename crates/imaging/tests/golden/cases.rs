//! The corpus files that must be decoded, with the tolerated difference from their references.

/// One file of the corpus.
pub(crate) struct Case {
    pub(crate) file: &'static str,
    /// The file whose reference image is used: its own, unless another file has the same pixels.
    pub(crate) reference: &'static str,
    /// Width and height after applying the orientation.
    pub(crate) size: (u32, u32),
    /// Tolerance of the largest master: mean and maximum difference of all channels of all pixels.
    pub(crate) master_tolerance: (f64, u8),
    /// Tolerance of the rendered images at that size, which are encoded a second time.
    pub(crate) render_tolerance: (f64, u8),
}

impl Case {
    const fn with_reference(self, reference: &'static str) -> Self {
        Self { reference, ..self }
    }

    const fn with_size(self, width: u32, height: u32) -> Self {
        Self { size: (width, height), ..self }
    }

    /// Whether the image is a chart of flat patches, on which colour differences are measured.
    pub(crate) fn is_chart(&self) -> bool {
        self.reference.starts_with("profiles/")
    }
}

const fn case(file: &'static str, master_tolerance: (f64, u8), render_tolerance: (f64, u8)) -> Case {
    Case { file, reference: file, size: (96, 64), master_tolerance, render_tolerance }
}

pub(crate) const JPEG: &[Case] = &[
    case("jpeg/17x13-progressive.jpg", (5.5, 30), (9.5, 60)).with_size(17, 13),
    case("jpeg/17x13.jpg", (5.5, 30), (9.5, 60)).with_size(17, 13),
    case("jpeg/1x1-progressive.jpg", (0.5, 5), (2.0, 10)).with_size(1, 1),
    case("jpeg/1x1.jpg", (0.5, 5), (2.0, 10)).with_size(1, 1),
    case("jpeg/410.jpg", (3.5, 70), (5.5, 100)),
    case("jpeg/411-progressive.jpg", (3.5, 70), (5.0, 100)),
    case("jpeg/411.jpg", (3.5, 70), (5.0, 100)),
    case("jpeg/422-separate-scans.jpg", (3.0, 50), (4.5, 70)),
    case("jpeg/422.jpg", (3.0, 50), (4.5, 70)),
    case("jpeg/440.jpg", (3.0, 40), (4.5, 70)),
    case("jpeg/444.jpg", (3.0, 50), (5.0, 70)),
    case("jpeg/8x200-progressive.jpg", (2.5, 20), (6.5, 30)).with_size(8, 200),
    case("jpeg/8x200.jpg", (2.5, 20), (6.5, 30)).with_size(8, 200),
    case("jpeg/97x61-progressive.jpg", (2.5, 30), (4.5, 60)).with_size(97, 61),
    case("jpeg/97x61.jpg", (2.5, 30), (4.5, 60)).with_size(97, 61),
    case("jpeg/baseline.jpg", (1.5, 20), (4.5, 50)),
    case("jpeg/cmyk-progressive.jpg", (3.0, 50), (5.0, 70)),
    case("jpeg/cmyk.jpg", (3.0, 50), (5.0, 70)),
    case("jpeg/grey-2x2.jpg", (0.5, 10), (2.5, 30)),
    case("jpeg/grey-progressive.jpg", (0.5, 10), (2.5, 30)),
    case("jpeg/grey.jpg", (0.5, 10), (2.5, 30)),
    case("jpeg/low-quality.jpg", (2.0, 30), (4.5, 50)),
    case("jpeg/optimised.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("jpeg/progressive-restarts.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("jpeg/progressive.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("jpeg/restarts-every-block.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("jpeg/restarts.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("jpeg/rgb.jpg", (3.0, 50), (5.0, 70)),
    case("jpeg/separate-scans.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("jpeg/ycck.jpg", (3.5, 50), (5.0, 80)),
];

pub(crate) const PNG: &[Case] = &[
    case("png/17x13.png", (9.0, 140), (12.5, 160)).with_size(17, 13),
    case("png/1x1.png", (1.0, 10), (1.5, 10)).with_size(1, 1),
    case("png/gamma.png", (3.0, 50), (5.0, 60)),
    case("png/grey-1.png", (1.0, 20), (2.0, 50)),
    case("png/grey-16-key.png", (0.5, 5), (2.5, 40)),
    case("png/grey-16.png", (1.0, 10), (2.5, 30)),
    case("png/grey-2-key.png", (0.5, 5), (3.5, 40)),
    case("png/grey-2.png", (2.0, 20), (3.0, 50)),
    case("png/grey-4.png", (2.0, 20), (3.0, 30)),
    case("png/grey-8-key.png", (0.5, 5), (2.5, 40)),
    case("png/grey-8.png", (1.0, 10), (2.5, 30)),
    case("png/grey-alpha-16.png", (0.5, 5), (2.0, 30)),
    case("png/grey-alpha-8-interlaced.png", (0.5, 5), (2.0, 30)).with_reference("png/grey-alpha-8.png"),
    case("png/grey-alpha-8.png", (0.5, 5), (2.0, 30)),
    case("png/palette-1.png", (3.0, 60), (3.5, 60)),
    case("png/palette-2.png", (4.0, 90), (5.0, 90)),
    case("png/palette-4-hole.png", (0.5, 5), (8.0, 110)),
    case("png/palette-4-interlaced.png", (5.5, 80), (7.5, 90)),
    case("png/palette-4-translucent.png", (0.5, 5), (5.5, 100)),
    case("png/palette-4.png", (5.5, 80), (7.5, 90)),
    case("png/palette-8.png", (4.0, 60), (5.5, 70)),
    case("png/rgb-16-key.png", (0.5, 5), (5.0, 100)),
    case("png/rgb-16.png", (3.0, 50), (5.0, 60)),
    case("png/rgb-8-interlaced.png", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("png/rgb-8-key.png", (0.5, 5), (5.0, 100)),
    case("png/rgb-8.png", (3.0, 50), (5.0, 60)),
    case("png/rgba-16-interlaced.png", (0.5, 5), (4.0, 90)).with_reference("png/rgba-16.png"),
    case("png/rgba-16.png", (0.5, 5), (4.0, 90)),
    case("png/rgba-8.png", (0.5, 5), (4.0, 90)),
    case("png/srgb.png", (3.0, 50), (5.0, 60)),
];

pub(crate) const WEBP: &[Case] = &[
    case("webp/17x13.webp", (5.5, 50), (9.5, 70)).with_size(17, 13),
    case("webp/1x1.webp", (1.0, 10), (2.5, 10)).with_size(1, 1),
    case("webp/97x61.webp", (3.0, 40), (4.5, 50)).with_size(97, 61),
    case("webp/animated-lossless.webp", (3.0, 50), (5.0, 60)),
    case("webp/animated.webp", (3.0, 40), (4.5, 60)),
    case("webp/lossless-alpha.webp", (0.5, 5), (4.0, 90)),
    case("webp/lossless-palette.webp", (4.5, 80), (6.0, 100)),
    case("webp/lossless.webp", (3.0, 50), (5.0, 60)),
    case("webp/lossy-alpha.webp", (0.5, 5), (4.0, 80)),
    case("webp/lossy.webp", (3.0, 40), (4.5, 60)),
];

pub(crate) const GIF: &[Case] = &[
    case("gif/animated.gif", (5.5, 90), (7.0, 100)),
    case("gif/interlaced.gif", (5.5, 90), (7.0, 100)),
    case("gif/plain.gif", (5.5, 90), (7.0, 100)),
    case("gif/small-frame.gif", (0.5, 5), (2.5, 80)),
    case("gif/transparent.gif", (0.5, 5), (6.5, 110)),
];

pub(crate) const AVIF: &[Case] = &[
    case("avif/420-10-bit.avif", (3.0, 40), (5.0, 60)),
    case("avif/420-12-bit.avif", (3.0, 40), (4.5, 70)),
    case("avif/420.avif", (3.0, 50), (5.0, 70)),
    case("avif/422.avif", (3.5, 50), (5.0, 70)),
    case("avif/444-10-bit.avif", (3.5, 50), (5.5, 80)),
    case("avif/444.avif", (3.5, 50), (5.5, 80)),
    case("avif/97x61.avif", (3.0, 40), (5.0, 70)).with_size(97, 61),
    case("avif/alpha-444-10-bit.avif", (1.5, 30), (4.5, 100)),
    case("avif/alpha.avif", (2.5, 60), (4.0, 90)),
    case("avif/animated.avif", (3.0, 40), (5.0, 60)),
    case("avif/bt2020-limited-10-bit.avif", (4.5, 30), (5.5, 50)),
    case("avif/bt709.avif", (3.0, 30), (4.5, 40)),
    case("avif/crop-rotate-mirror.avif", (4.5, 40), (7.0, 60)).with_size(20, 33),
    case("avif/crop.avif", (4.5, 40), (7.0, 60)).with_size(33, 20),
    case("avif/exif-orientation.avif", (4.0, 70), (5.0, 80)),
    case("avif/gain-map.avif", (3.0, 30), (4.0, 50)),
    case("avif/grey.avif", (1.0, 20), (2.5, 30)),
    case("avif/grid-tile-alpha.avif", (1.5, 20), (4.0, 70)).with_size(128, 64),
    case("avif/grid.avif", (3.0, 40), (5.0, 60)).with_size(128, 64),
    case("avif/identity.avif", (3.5, 40), (5.0, 50)).with_size(80, 58),
    case("avif/layer-0.avif", (3.0, 50), (5.0, 60)).with_size(48, 32),
    case("avif/layer-1.avif", (2.5, 30), (4.0, 50)),
    case("avif/layered.avif", (2.5, 30), (4.0, 40)),
    case("avif/limited-range.avif", (3.0, 40), (5.0, 70)),
    case("avif/lossless.avif", (3.5, 50), (5.5, 70)),
    case("avif/operating-point.avif", (2.5, 30), (4.0, 50)),
    case("avif/overlay.avif", (5.0, 110), (6.5, 110)).with_size(110, 80),
    case("avif/premultiplied.avif", (0.5, 10), (4.5, 80)),
    case("avif/rotate-mirror-crop.avif", (3.5, 40), (5.0, 60)).with_size(34, 58),
    case("avif/rotated-180.avif", (3.0, 40), (5.0, 70)),
    case("avif/rotated-270.avif", (3.0, 50), (5.0, 80)),
    case("avif/rotated-90.avif", (3.0, 40), (5.0, 70)),
    case("avif/ycgco.avif", (3.0, 50), (5.0, 60)),
];

pub(crate) const HEIC: &[Case] = &[
    case("heic/10-bit.heic", (4.0, 70), (5.5, 90)),
    case("heic/12-bit.heic", (4.5, 80), (5.5, 90)),
    case("heic/420.heic", (4.0, 70), (5.5, 90)),
    case("heic/422.heic", (3.5, 60), (5.0, 70)),
    case("heic/444.heic", (3.5, 50), (5.0, 80)),
    case("heic/97x61.heic", (4.0, 80), (5.5, 100)).with_size(97, 61),
    case("heic/alpha.heic", (2.5, 60), (5.0, 90)),
    case("heic/bt709-limited.heic", (3.5, 40), (5.0, 60)),
    case("heic/crop-rotate-mirror.heic", (5.0, 40), (6.5, 50)).with_size(20, 33),
    case("heic/crop.heic", (4.5, 40), (7.0, 60)).with_size(33, 20),
    case("heic/grey.heic", (1.0, 10), (2.0, 20)),
    case("heic/grid-tile-alpha.heic", (1.0, 10), (4.0, 70)).with_size(128, 64),
    case("heic/identity.heic", (3.5, 40), (5.0, 50)).with_size(80, 58),
    case("heic/orientation-3.heic", (4.0, 70), (5.5, 90)),
    case("heic/orientation-6.heic", (4.0, 70), (5.5, 90)),
    case("heic/orientation-8.heic", (4.0, 70), (5.5, 90)),
    case("heic/overlay.heic", (5.0, 100), (6.5, 110)).with_size(110, 80),
    case("heic/rotate-mirror-crop.heic", (3.5, 40), (5.5, 70)).with_size(34, 58),
];

pub(crate) const ORIENTATION: &[Case] = &[
    case("orientation/1.jpg", (1.5, 20), (4.5, 50)),
    case("orientation/2.jpg", (3.0, 50), (5.0, 70)),
    case("orientation/2.png", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("orientation/2.webp", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("orientation/3.jpg", (1.5, 20), (4.5, 50)),
    case("orientation/4.jpg", (3.0, 50), (5.0, 70)),
    case("orientation/5.jpg", (2.0, 20), (4.5, 50)),
    case("orientation/5.png", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("orientation/5.webp", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("orientation/6.jpg", (3.0, 50), (5.0, 70)),
    case("orientation/6.png", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("orientation/6.webp", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("orientation/7.jpg", (2.0, 30), (4.5, 50)),
    case("orientation/8.jpg", (3.0, 50), (5.0, 70)),
    case("orientation/8.png", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("orientation/8.webp", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("orientation/phone.jpg", (2.0, 20), (4.5, 50)),
];

pub(crate) const PROFILES: &[Case] = &[
    case("profiles/adobe-rgb.jpg", (3.0, 110), (6.0, 140)),
    case("profiles/adobe-rgb.png", (3.0, 110), (6.0, 140)),
    case("profiles/cmyk-none.jpg", (4.0, 100), (7.5, 120)),
    case("profiles/cmyk-on-rgb.jpg", (3.0, 110), (6.0, 140)),
    case("profiles/cmyk.jpg", (2.0, 40), (3.5, 60)),
    case("profiles/grey-10.png", (0.5, 10), (1.5, 20)),
    case("profiles/grey-22.avif", (0.5, 5), (0.5, 10)),
    case("profiles/grey-22.jpg", (0.5, 5), (1.0, 20)),
    case("profiles/grey-22.png", (0.5, 5), (1.0, 20)),
    case("profiles/grey-on-rgb.jpg", (3.0, 110), (6.0, 140)),
    case("profiles/none.jpg", (3.0, 110), (6.0, 140)),
    case("profiles/p3-420.jpg", (3.0, 50), (5.5, 80)),
    case("profiles/p3-alpha.png", (0.5, 5), (3.5, 90)),
    case("profiles/p3-cicp.png", (3.0, 110), (6.0, 140)),
    case("profiles/p3-in-segments.jpg", (3.5, 110), (6.0, 140)),
    case("profiles/p3-lossy.webp", (3.0, 50), (5.5, 80)),
    case("profiles/p3-max-saturation.png", (6.5, 140), (11.5, 160)),
    case("profiles/p3-nclx.avif", (3.5, 120), (6.5, 150)),
    case("profiles/p3-rotated.jpg", (3.5, 110), (6.0, 140)),
    case("profiles/p3.avif", (3.5, 120), (6.5, 150)),
    case("profiles/p3.heic", (5.0, 120), (7.0, 150)),
    case("profiles/p3.jpg", (3.5, 110), (6.0, 140)),
    case("profiles/p3.png", (3.0, 110), (6.0, 140)),
    case("profiles/p3.webp", (3.0, 110), (6.0, 140)),
    case("profiles/prophoto-16.png", (3.0, 110), (6.0, 130)),
    case("profiles/prophoto.jpg", (3.0, 110), (6.0, 130)),
    case("profiles/rgb-on-grey.png", (0.5, 5), (0.5, 20)),
    case("profiles/swapped-palette.png", (3.0, 110), (6.0, 140)),
    case("profiles/swapped.jpg", (3.0, 110), (6.5, 130)),
    case("profiles/swapped.png", (3.0, 110), (6.0, 140)),
    case("profiles/table.jpg", (3.5, 110), (6.5, 130)),
    case("profiles/text.jpg", (3.0, 110), (6.0, 140)),
    case("profiles/truncated.jpg", (3.0, 110), (6.0, 140)),
    case("profiles/ycck.jpg", (2.0, 40), (3.5, 60)),
];

pub(crate) const HDR: &[Case] = &[
    case("hdr/hlg.avif", (4.0, 60), (5.5, 70)),
    case("hdr/hlg.heic", (3.5, 60), (5.5, 70)),
    case("hdr/pq.avif", (4.5, 60), (6.0, 70)),
    case("hdr/pq.heic", (4.0, 60), (5.5, 70)),
    case("hdr/pq.png", (3.5, 50), (5.5, 70)),
];

pub(crate) const DAMAGED: &[Case] = &[
    case("damaged/fill-before-end.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("damaged/fill-between-segments.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("damaged/half-end-marker.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("damaged/half-end-marker.png", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("damaged/no-end-marker-progressive.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("damaged/no-end-marker.gif", (5.5, 90), (7.0, 100)).with_reference("gif/plain.gif"),
    case("damaged/no-end-marker.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("damaged/no-end-marker.png", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("damaged/second-image.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("damaged/trailing.avif", (3.0, 50), (5.0, 70)).with_reference("avif/420.avif"),
    case("damaged/trailing.gif", (5.5, 90), (7.0, 100)).with_reference("gif/plain.gif"),
    case("damaged/trailing.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("damaged/trailing.png", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("damaged/trailing.webp", (3.0, 40), (4.5, 60)).with_reference("webp/lossy.webp"),
    case("damaged/wrong-checksum-of-text.png", (3.0, 50), (5.0, 60)).with_reference("png/rgb-8.png"),
    case("damaged/zeros-before-end.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
];

/// Rare features that may be rejected as unsupported.
pub(crate) const OPTIONAL: &[Case] = &[
    case("jpeg/arithmetic.jpg", (1.5, 20), (4.5, 50)).with_reference("jpeg/baseline.jpg"),
    case("jpeg/12-bit.jpg", (3.0, 50), (5.0, 70)),
];

pub(crate) const ALL_CASES: [&[Case]; 11] =
    [JPEG, PNG, WEBP, GIF, AVIF, HEIC, ORIENTATION, PROFILES, HDR, DAMAGED, OPTIONAL];
