package conclude

import (
	"io"

	"dumptool/internal/compare/record"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
)

// DocumentName is the file name of the document of a comparison.
const DocumentName = "compare.json"

// ReadReport reads a compare.json, path may be its folder. Errors name the file.
func ReadReport(path string) (rep *record.Report, err error) {
	err = readDocument(path, func(in io.Reader) error {
		rep, err = record.Read(in)
		return err
	})
	return rep, err
}

// documentAt returns the path of a compare.json, given its path or folder.
func documentAt(path string) string { return safefile.ResolveInFolder(path, DocumentName) }

// readDocument opens a compare.json, path may be its folder, for read. Errors name the file.
func readDocument(path string, read func(io.Reader) error) error {
	path = documentAt(path)
	f, err := shard.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := read(f); err != nil {
		return safefile.WithPath(path, err)
	}
	return nil
}
