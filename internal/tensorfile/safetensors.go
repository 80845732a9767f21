package tensorfile

import (
	"path/filepath"
	"strings"

	"dumptool/internal/format/safetensors"
)

const safetensorsExt = ".safetensors"

// safetensorsContainer is a file of Hugging Face's safetensors. It has no magic
// number: its name decides.
var safetensorsContainer = Container{
	Name:       "safetensors",
	Extensions: []string{safetensorsExt},
	Named:      true,
	is: func(_ []byte, src *source) bool {
		return strings.EqualFold(filepath.Ext(src.name), safetensorsExt)
	},
	read: named(safetensors.Open),
}
