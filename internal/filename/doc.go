// Package filename knows the names of dump files: one function, Parse, takes a
// name apart after the first grammar of a table that fits, so that a file means
// the same to every command. ParseFolder does the same for the folders of a
// dump tree. The package looks at names only; it opens no file.
package filename
