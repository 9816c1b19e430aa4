/* Encodes an I420 image as one AV1 temporal unit of spatial layers, which no command of Debian does.
   layers WIDTH HEIGHT HALF... < in.yuv > out.obu: for each layer, whether it has half the size. */

#include <aom/aom_encoder.h>
#include <aom/aomcx.h>
#include <stdio.h>
#include <stdlib.h>

static void check(aom_codec_err_t error, const char *what) {
    if (error != AOM_CODEC_OK) {
        fprintf(stderr, "%s: %s\n", what, aom_codec_err_to_string(error));
        exit(1);
    }
}

int main(int argc, char **argv) {
    int width = atoi(argv[1]), height = atoi(argv[2]), layers = argc - 3;
    aom_codec_enc_cfg_t config;
    check(aom_codec_enc_config_default(aom_codec_av1_cx(), &config, AOM_USAGE_GOOD_QUALITY), "config");
    config.g_w = width;
    config.g_h = height;
    config.g_threads = 1;
    config.g_lag_in_frames = 0;
    config.rc_end_usage = AOM_Q;
    config.rc_min_quantizer = 8;
    config.rc_max_quantizer = 40;

    aom_codec_ctx_t codec;
    check(aom_codec_enc_init(&codec, aom_codec_av1_cx(), &config, 0), "init");
    check(aom_codec_control(&codec, AOME_SET_CPUUSED, 4), "speed");
    check(aom_codec_control(&codec, AOME_SET_NUMBER_SPATIAL_LAYERS, layers), "layers");
    check(aom_codec_control(&codec, AV1E_SET_COLOR_PRIMARIES, AOM_CICP_CP_BT_709), "primaries");
    check(aom_codec_control(&codec, AV1E_SET_TRANSFER_CHARACTERISTICS, AOM_CICP_TC_SRGB), "transfer");
    check(aom_codec_control(&codec, AV1E_SET_MATRIX_COEFFICIENTS, AOM_CICP_MC_BT_601), "matrix");
    check(aom_codec_control(&codec, AV1E_SET_COLOR_RANGE, AOM_CR_FULL_RANGE), "range");

    aom_image_t *image = aom_img_alloc(NULL, AOM_IMG_FMT_I420, width, height, 1);
    image->range = AOM_CR_FULL_RANGE;
    for (int plane = 0; plane < 3; plane++) {
        int columns = plane ? width / 2 : width, rows = plane ? height / 2 : height;
        for (int row = 0; row < rows; row++)
            if (fread(image->planes[plane] + row * image->stride[plane], 1, columns, stdin) != (size_t)columns)
                return 1;
    }
    for (int layer = 0; layer < layers; layer++) {
        AOM_SCALING_MODE half = atoi(argv[3 + layer]) ? AOME_ONETWO : AOME_NORMAL;
        aom_scaling_mode_t scale = {half, half};
        check(aom_codec_control(&codec, AOME_SET_SCALEMODE, &scale), "scale");
        check(aom_codec_control(&codec, AOME_SET_SPATIAL_LAYER_ID, layer), "layer");
        /* The lower layers are coarse, so that a decoder that shows one is found out. */
        check(aom_codec_control(&codec, AOME_SET_CQ_LEVEL, layer == layers - 1 ? 10 : 40), "quality");
        aom_enc_frame_flags_t flags = layer ? AOM_EFLAG_NO_REF_GF | AOM_EFLAG_NO_REF_ARF | AOM_EFLAG_NO_REF_BWD |
                                                  AOM_EFLAG_NO_REF_ARF2
                                            : AOM_EFLAG_FORCE_KF;
        check(aom_codec_encode(&codec, image, 0, 1, flags), "encode");
        aom_codec_iter_t next = NULL;
        const aom_codec_cx_pkt_t *packet;
        while ((packet = aom_codec_get_cx_data(&codec, &next)))
            if (packet->kind == AOM_CODEC_CX_FRAME_PKT)
                fwrite(packet->data.frame.buf, 1, packet->data.frame.sz, stdout);
    }
    return 0;
}
