//! Colour difference: CIE Lab and CIEDE2000.

/// CIE Lab of an sRGB colour, with the sRGB white point.
pub(crate) fn lab(srgb: [f64; 3]) -> [f64; 3] {
    const TO_XYZ: [[f64; 3]; 3] = [
        [0.412_456, 0.357_576, 0.180_438],
        [0.212_673, 0.715_152, 0.072_175],
        [0.019_334, 0.119_192, 0.950_304],
    ];
    let linear = srgb.map(|number| match number / 255.0 {
        low if low <= 0.04045 => low / 12.92,
        high => ((high + 0.055) / 1.055).powf(2.4),
    });
    let [x, y, z] = TO_XYZ.map(|row| {
        let white: f64 = row.iter().sum();
        let part = row.iter().zip(linear).map(|(weight, light)| weight * light).sum::<f64>() / white;
        if part > 216.0 / 24_389.0 { part.cbrt() } else { (24_389.0 / 27.0 * part + 16.0) / 116.0 }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// CIEDE2000, with the notation of Sharma, Wu and Dalal (2005).
pub(crate) fn ciede2000([l1, a1, b1]: [f64; 3], [l2, a2, b2]: [f64; 3]) -> f64 {
    let chroma_weight = |chroma: f64| (chroma.powi(7) / (chroma.powi(7) + 25_f64.powi(7))).sqrt();
    let a_factor = 1.0 + 0.5 * (1.0 - chroma_weight(f64::midpoint(a1.hypot(b1), a2.hypot(b2))));
    let (a1, a2) = (a1 * a_factor, a2 * a_factor);
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue = |a: f64, b: f64| b.atan2(a).to_degrees().rem_euclid(360.0);
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));

    // Greys have no hue.
    let grey = c1 * c2 == 0.0;
    let hue_difference = match h2 - h1 {
        _ if grey => 0.0,
        hue_difference if hue_difference > 180.0 => hue_difference - 360.0,
        hue_difference if hue_difference < -180.0 => hue_difference + 360.0,
        hue_difference => hue_difference,
    };
    let h = if grey { h1 + h2 } else { (h1 + hue_difference / 2.0).rem_euclid(360.0) };
    let (l, c) = (f64::midpoint(l1, l2), f64::midpoint(c1, c2));

    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(h - 30.0) + 0.24 * cos(2.0 * h) + 0.32 * cos(3.0 * h + 6.0)
        - 0.20 * cos(4.0 * h - 63.0);
    let s_l = 1.0 + 0.015 * (l - 50.0).powi(2) / (20.0 + (l - 50.0).powi(2)).sqrt();
    let (s_c, s_h) = (1.0 + 0.045 * c, 1.0 + 0.015 * c * t);
    let theta = 60.0 * (-((h - 275.0) / 25.0).powi(2)).exp();
    let rotation = -2.0 * chroma_weight(c) * theta.to_radians().sin();

    let lightness = (l2 - l1) / s_l;
    let chroma = (c2 - c1) / s_c;
    let hue = 2.0 * (c1 * c2).sqrt() * (hue_difference / 2.0).to_radians().sin() / s_h;
    (lightness.powi(2) + chroma.powi(2) + hue.powi(2) + rotation * chroma * hue).sqrt()
}

#[test]
fn ciede2000_matches_the_published_test_pairs() {
    for (one, other, distance) in [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, -1.0, 2.0], [50.0, 0.0, 0.0], 2.3669),
        ([50.0, 2.5, 0.0], [50.0, 0.0, -2.5], 4.3065),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
        ([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644),
        ([2.0776, 0.0795, -1.1350], [0.9033, -0.0636, -0.5514], 0.9082),
    ] {
        let computed = ciede2000(one, other);
        assert!((computed - distance).abs() < 0.0001, "{computed} instead of {distance}");
    }
}
