package compare

import (
	"errors"
	"io/fs"
)

// withPath puts a path in front of an error that does not name it already, as
// those of the system do.
func withPath(path string, err error) string {
	var system *fs.PathError
	if errors.As(err, &system) && system.Path == path {
		return err.Error()
	}
	return path + ": " + err.Error()
}
