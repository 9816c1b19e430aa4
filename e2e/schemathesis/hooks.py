# Tells schemathesis that the pieces of a resumable upload are plain bytes.

import schemathesis

schemathesis.serializer.alias("application/partial-upload", "application/octet-stream")
