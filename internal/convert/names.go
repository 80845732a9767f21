package convert

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"dumptool/internal/tensor"
)

// product is a tensor that is ready to be written: what names and headers say
// about it.
type product struct {
	kind  string
	index int
	shape tensor.Shape
	// format is what the elements are in; converted says whether they were
	// brought there by a conversion.
	format    tensor.Format
	converted bool
	// dtype is the name of the element type of a .bin file.
	dtype string
}

// outputName is the name of the output file of a tensor. base is the name of
// the dump, opName the full operator name in its header, possibly empty.
//
// The names are those of the msaccucmp tool: the shape is part of the name of a
// converted tensor, a .bin name also has its element type and format, and
// MindSpore's form has the format.
func outputName(t Type, base, opName string, p product) string {
	stem := fmt.Sprintf("%s.%s.%d", base, p.kind, p.index)
	switch {
	case t == Bin:
		shape := p.shape
		if !p.converted {
			shape = tensor.Shape{p.shape.Elements()}
		}
		return fmt.Sprintf("%s.%s.%s.%s.bin", stem, shape.Join("_"), p.dtype, p.format)
	case t == MSNpy:
		return fmt.Sprintf("%s.%s.%d.%s.npy", mindSporeBase(base, opName), p.kind, p.index, p.format)
	case p.converted:
		return fmt.Sprintf("%s.%s.%s", stem, p.shape.Join("x"), t)
	}
	return stem + "." + string(t)
}

// arrayName is the name of the output file of an array; base is the array's
// name without its ending.
func arrayName(t Type, base string, p product) string {
	switch {
	case t == Bin && len(p.shape) == 0:
		return fmt.Sprintf("%s.%s.bin", base, p.dtype)
	case t == Bin:
		return fmt.Sprintf("%s.%s.%s.bin", base, p.shape.Join("_"), p.dtype)
	case t == Txt || t == Pt:
		return base + "." + string(t)
	}
	return base + ".npy"
}

// rawName is the name of the host file of raw elements; base is their name without
// its ending.
func rawName(t Type, base string, p product) string {
	if p.converted {
		base += "." + p.shape.Join("x")
	}
	return base + "." + string(t)
}

// mindSporeBase replaces the operator's name in a dump name of five parts by the
// last component of its full name.
func mindSporeBase(base, opName string) string {
	parts := strings.Split(base, ".")
	last := opName[strings.LastIndex(opName, "/")+1:]
	if len(parts) != 5 || last == "" {
		return base
	}
	parts[1] = safeName(last)
	return strings.Join(parts, ".")
}

// withoutExt is a name without its extension.
func withoutExt(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// safeName makes one path component of a name that comes from a file: it can
// name a file in the output folder and nothing else.
func safeName(name string) string {
	forbidden := "/\\"
	if runtime.GOOS == "windows" {
		forbidden = `/\<>:"|?*`
	}
	// Byte by byte: names need not be UTF-8.
	safe := []byte(name)
	for i, b := range safe {
		if b < ' ' || b == 0x7f || strings.IndexByte(forbidden, b) >= 0 {
			safe[i] = '_'
		}
	}
	if strings.Trim(name, ".") == "" {
		return strings.Repeat("_", max(1, len(name)))
	}
	return string(safe)
}

// maxNameBytes is what a file name must stay below (NAME_MAX of Linux).
const maxNameBytes = 255

// shortName returns the name a file gets instead of one that is too long: the
// hex digits of the version 3 UUID of the name in the DNS namespace, with the
// extension kept, as msaccucmp names such files.
func shortName(name string) string {
	namespace := []byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	sum := md5.Sum(append(namespace, name...)) // RFC 9562, section 5.3
	sum[6] = sum[6]&0x0f | 0x30
	sum[8] = sum[8]&0x3f | 0x80
	return hex.EncodeToString(sum[:]) + filepath.Ext(name)
}
