package store

import (
	"path/filepath"
	"strings"

	"dumptool/internal/lang"
)

// schemes are the prefixes of remote paths. They are synonyms: the same bucket and key is the same
// object.
var schemes = []string{"s3://", "obs://"}

// IsRemote reports whether a path is in object storage or in an archive, not a file of the system.
func IsRemote(path string) bool {
	if schemeOf(path) != "" {
		return true
	}
	m, _ := mountOf(path)
	return m != nil
}

// schemeOf returns the scheme of a remote path, empty for a local path.
func schemeOf(path string) string {
	for _, s := range schemes {
		if strings.HasPrefix(path, s) {
			return s
		}
	}
	return ""
}

// splitPath splits a remote path after the bucket, s3://bucket and /key, or after the Mark of an
// archive.
func splitPath(path string) (root, rest string) {
	if m, mark := mountOf(path); m != nil {
		return path[:mark+len(Mark)], path[mark+len(Mark):]
	}
	start := len(schemeOf(path))
	if slash := strings.IndexByte(path[start:], '/'); slash >= 0 {
		return path[:start+slash], path[start+slash:]
	}
	return path, ""
}

// Join joins path elements like filepath.Join. Remote paths are joined by single slashes and not
// cleaned.
func Join(elem ...string) string {
	if len(elem) == 0 || !IsRemote(elem[0]) {
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
	m, mark := mountOf(path)
	return m != nil && mark+len(Mark) == len(path)
}

// Dir returns the folder of a path like filepath.Dir. Dir of a bucket is the bucket.
func Dir(path string) string {
	if !IsRemote(path) {
		return filepath.Dir(path)
	}
	root, rest := splitPath(path)
	return root + rest[:max(0, strings.LastIndexByte(rest, '/'))]
}

// Base returns the last element of a path like filepath.Base. Base of a bucket is its name, and of
// the root of an archive the name of the archive.
func Base(path string) string {
	if archive, name, ok := SplitArchive(path); ok {
		if name = strings.TrimRight(name, "/"); name == "" {
			return Base(archive)
		}
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	if !IsRemote(path) {
		return filepath.Base(path)
	}
	path = strings.TrimRight(path[len(schemeOf(path)):], "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// IsAbs reports whether a path is absolute. Remote paths are absolute.
func IsAbs(path string) bool { return IsRemote(path) || filepath.IsAbs(path) }

// Abs returns the canonical path: like filepath.Abs, and for remote paths with s3:// and without a
// trailing slash.
func Abs(path string) (string, error) {
	if archive, name, ok := SplitArchive(path); ok {
		abs, err := Abs(archive)
		return abs + Mark + strings.Trim(name, "/"), err
	}
	if !IsRemote(path) {
		return filepath.Abs(path)
	}
	return schemes[0] + strings.TrimSuffix(path[len(schemeOf(path)):], "/"), nil
}

// Clean returns the shortest spelling of a path like filepath.Clean. Remote paths only lose a
// trailing slash.
func Clean(path string) string {
	if !IsRemote(path) {
		return filepath.Clean(path)
	}
	root, rest := splitPath(path)
	return root + strings.TrimSuffix(rest, "/")
}

// Rel returns target relative to base like filepath.Rel. A remote target must be at or below base.
func Rel(base, target string) (string, error) {
	if !IsRemote(base) && !IsRemote(target) {
		return filepath.Rel(base, target)
	}
	if IsRemote(base) && IsRemote(target) {
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

// Real returns an existing path without symbolic links like filepath.EvalSymlinks. Remote paths
// have none.
func Real(path string) (string, error) {
	if IsRemote(path) {
		_, err := Stat(path)
		return path, err
	}
	return filepath.EvalSymlinks(path)
}

// ErrOutside is wrapped by the errors of ResolveWithin for paths that lead out of the folder.
var ErrOutside = lang.Errorf("is outside of")

// ResolveWithin returns the absolute path, without symbolic links, of a file at or below the folder root.
// Paths from the contents of files are untrusted and must pass ResolveWithin before they are opened:
// neither ".." nor symbolic links may lead out of the folder.
func ResolveWithin(root, path string) (string, error) {
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
