package report

import (
	"fmt"
	"io"
)

// Version is what the program is: its version, and what it was built with and
// for.
type Version struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// WriteVersion prints a version on one line.
func (Text) WriteVersion(w io.Writer, v Version) error {
	_, err := fmt.Fprintf(w, "dumptool %s %s %s/%s\n", v.Version, v.Go, v.OS, v.Arch)
	return err
}
