package store

import (
	"path/filepath"
	"strings"

	"dumptool/internal/lang"
)

// schemes are the beginnings of remote paths. They are spellings of one: the same
// bucket and key is the same object.
var schemes = []string{"s3://", "obs://"}

// Remote reports whether a path is one of object storage, or of a file in an archive: no
// file of the system.
func Remote(path string) bool {
	if scheme(path) != "" {
		return true
	}
	m, _ := mounted(path)
	return m != nil
}

// scheme is the beginning of a remote path, empty for a local one.
func scheme(path string) string {
	for _, s := range schemes {
		if strings.HasPrefix(path, s) {
			return s
		}
	}
	return ""
}

// split cuts a remote path behind the bucket, s3://bucket and /key, or behind the mark of
// an archive.
func split(path string) (root, rest string) {
	if m, mark := mounted(path); m != nil {
		return path[:mark+len(Mark)], path[mark+len(Mark):]
	}
	start := len(scheme(path))
	if slash := strings.IndexByte(path[start:], '/'); slash >= 0 {
		return path[:start+slash], path[start+slash:]
	}
	return path, ""
}

// Join joins path elements as filepath.Join does. Behind a remote path only single
// slashes are put between them; nothing is cleaned.
func Join(elem ...string) string {
	if len(elem) == 0 || !Remote(elem[0]) {
		return filepath.Join(elem...)
	}
	path := elem[0]
	for _, e := range elem[1:] {
		if e == "" || e == "." {
			continue
		}
		if !strings.HasSuffix(path, "/") && !isRoot(path) {
			path += "/"
		}
		path += filepath.ToSlash(e)
	}
	return path
}

// isRoot reports whether a path is the folder of all files of an archive.
func isRoot(path string) bool {
	if !strings.HasSuffix(path, Mark) {
		return false
	}
	m, mark := mounted(path)
	return m != nil && mark+len(Mark) == len(path)
}

// Dir is the folder of a path as filepath.Dir has it. That of a bucket is itself.
func Dir(path string) string {
	if !Remote(path) {
		return filepath.Dir(path)
	}
	root, rest := split(path)
	return root + rest[:max(0, strings.LastIndexByte(rest, '/'))]
}

// Base is the last element of a path as filepath.Base has it. That of a bucket is its
// name, and that of all files of an archive the name of the archive.
func Base(path string) string {
	if archive, name, ok := InArchive(path); ok {
		if name = strings.TrimRight(name, "/"); name == "" {
			return Base(archive)
		}
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	if !Remote(path) {
		return filepath.Base(path)
	}
	path = strings.TrimRight(path[len(scheme(path)):], "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// IsAbs reports whether a path is absolute. Remote ones are.
func IsAbs(path string) bool { return Remote(path) || filepath.IsAbs(path) }

// Abs is the one spelling of a path that stands for all: as filepath.Abs has it, of
// remote paths with s3:// and without a slash at the end.
func Abs(path string) (string, error) {
	if archive, name, ok := InArchive(path); ok {
		abs, err := Abs(archive)
		return abs + Mark + strings.Trim(name, "/"), err
	}
	if !Remote(path) {
		return filepath.Abs(path)
	}
	return schemes[0] + strings.TrimSuffix(path[len(scheme(path)):], "/"), nil
}

// Clean is the shortest spelling of a path as filepath.Clean has it. Remote paths stay
// as they are but for a slash at the end.
func Clean(path string) string {
	if !Remote(path) {
		return filepath.Clean(path)
	}
	root, rest := split(path)
	return root + strings.TrimSuffix(rest, "/")
}

// Rel is the path of target below or beside base as filepath.Rel has it. Of remote
// paths only those at or below base have one.
func Rel(base, target string) (string, error) {
	if !Remote(base) && !Remote(target) {
		return filepath.Rel(base, target)
	}
	if Remote(base) && Remote(target) {
		from, _ := Abs(base)
		to, _ := Abs(target)
		if to == from {
			return ".", nil
		}
		if !isRoot(from) {
			from += "/"
		}
		if rest, ok := strings.CutPrefix(to, from); ok {
			return rest, nil
		}
	}
	return "", lang.Errorf("cannot make %s relative to %s", target, base)
}

// Real is the path without symbolic links of what exists, as filepath.EvalSymlinks has
// it. Remote paths have none.
func Real(path string) (string, error) {
	if Remote(path) {
		_, err := Stat(path)
		return path, err
	}
	return filepath.EvalSymlinks(path)
}

// ErrOutside is wrapped by the errors of Within about paths that lead out of a folder.
var ErrOutside = lang.Errorf("is outside of")

// Within is the absolute path, without symbolic links, of a file at or below the folder
// root. Whoever makes a path of a name that comes from a file asks here before it opens
// it: such a name must not lead out of the folder, neither by what it says nor by the
// links on its way.
func Within(root, path string) (string, error) {
	var real [2]string
	for i, p := range []string{root, path} {
		p, err := Abs(p)
		if err == nil {
			real[i], err = Real(p)
		}
		if err != nil {
			return "", err
		}
	}
	if below, err := Rel(real[0], real[1]); err != nil || !filepath.IsLocal(below) {
		return "", lang.Errorf("%s %w %s", path, ErrOutside, root)
	}
	return real[1], nil
}
