package filename

import (
	"crypto/md5"
	"encoding/hex"
	"path/filepath"
	"runtime"
	"strings"
)

// Safe makes one path component of a name that comes from a file: it can
// name a file in the output folder and nothing else.
func Safe(name string) string {
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

// MaxBytes is what a file name must stay below (NAME_MAX of Linux).
const MaxBytes = 255

// Short returns the name a file gets instead of one that is too long: the
// hex digits of the version 3 UUID of the name in the DNS namespace, with the
// extension kept, as msaccucmp names such files.
func Short(name string) string {
	namespace := []byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	sum := md5.Sum(append(namespace, name...)) // RFC 9562, section 5.3
	sum[6] = sum[6]&0x0f | 0x30
	sum[8] = sum[8]&0x3f | 0x80
	return hex.EncodeToString(sum[:]) + filepath.Ext(name)
}
