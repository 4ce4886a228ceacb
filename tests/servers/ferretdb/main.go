// Serves MongoDB's wire protocol from SQLite files, and reads back what a test has written:
//
//	ferretdb serve ADDRESS FOLDER
//	ferretdb serve-tls ADDRESS FOLDER
//	ferretdb check URL DATABASE COLLECTION
//	ferretdb count URL DATABASE COLLECTION
//	ferretdb set URL DATABASE COLLECTION ID NAME
//	ferretdb remove URL DATABASE COLLECTION ID
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/FerretDB/FerretDB/ferretdb"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
)

const length = 100

func main() {
	log.SetFlags(0)
	var err error
	switch os.Args[1] {
	case "serve":
		err = serve(ferretdb.ListenerConfig{TCP: os.Args[2]}, os.Args[3])
	case "serve-tls":
		// With the certificates in the folder.
		folder := os.Args[3]
		err = serve(ferretdb.ListenerConfig{
			TLS:         os.Args[2],
			TLSCertFile: folder + "/server.pem",
			TLSKeyFile:  folder + "/key.pem",
		}, folder)
	case "check":
		err = with(os.Args[2:], check)
	case "count":
		err = with(os.Args[2:], count)
	case "set":
		err = with(os.Args[2:], set)
	case "remove":
		err = with(os.Args[2:], remove)
	default:
		err = fmt.Errorf("no command %s", os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func serve(listener ferretdb.ListenerConfig, folder string) error {
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  listener,
		Handler:   "sqlite",
		SQLiteURL: "file:" + folder + "/",
	})
	if err != nil {
		return err
	}
	return server.Run(context.Background())
}

// with runs a command on a collection with MongoDB's own client; args are the URL, the database,
// the collection, and the command's own arguments.
func with(args []string, run func(context.Context, *mongo.Collection, []string) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := mongo.Connect(ctx, options.Client().ApplyURI(args[0]))
	if err != nil {
		return err
	}
	return run(ctx, client.Database(args[1]).Collection(args[2]), args[3:])
}

// count counts the documents that are found by their key. After kill -9, mongo-java-server may have
// a document that is in the collection but not in the index of keys: it is listed, but cannot be
// found.
func count(ctx context.Context, collection *mongo.Collection, _ []string) error {
	keys := options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}})
	cursor, err := collection.Find(ctx, bson.D{}, keys)
	if err != nil {
		return err
	}
	count := 0
	for cursor.Next(ctx) {
		key := bson.D{{Key: "_id", Value: cursor.Current.Lookup("_id")}}
		switch err := collection.FindOne(ctx, key).Err(); err {
		case nil:
			count++
		case mongo.ErrNoDocuments:
		default:
			return err
		}
	}
	fmt.Println(count)
	return cursor.Err()
}

// set gives a document this name, and creates it if it does not exist.
func set(ctx context.Context, collection *mongo.Collection, args []string) error {
	change := bson.D{{Key: "$set", Value: bson.D{{Key: "name", Value: args[1]}}}}
	filter := bson.D{{Key: "_id", Value: args[0]}}
	_, err := collection.UpdateOne(ctx, filter, change, options.Update().SetUpsert(true))
	return err
}

func remove(ctx context.Context, collection *mongo.Collection, args []string) error {
	_, err := collection.DeleteOne(ctx, bson.D{{Key: "_id", Value: args[0]}})
	return err
}

// check reads everything. The documents are YCSB's with dataintegrity=true: a value that does not
// match its key and field is an error.
func check(ctx context.Context, collection *mongo.Collection, _ []string) error {
	cursor, err := collection.Find(ctx, bson.D{})
	if err != nil {
		return err
	}
	rows, values := 0, 0
	for cursor.Next(ctx) {
		var document bson.D
		if err := cursor.Decode(&document); err != nil {
			return err
		}
		key := document.Map()["_id"].(string)
		rows++
		for _, element := range document {
			if element.Key == "_id" {
				continue
			}
			var found string
			switch value := element.Value.(type) {
			case string:
				found = value
			case primitive.Binary:
				found = string(value.Data)
			}
			if found != value(key, element.Key) {
				return fmt.Errorf("%s %s: %q", key, element.Key, found)
			}
			values++
		}
	}
	fmt.Printf("%d rows, %d values\n", rows, values)
	return cursor.Err()
}

// value is YCSB's CoreWorkload.buildDeterministicValue.
func value(key, field string) string {
	var text strings.Builder
	text.WriteString(key + ":" + field)
	for text.Len() < length {
		text.WriteByte(':')
		fmt.Fprint(&text, hash(text.String()))
	}
	return text.String()[:length]
}

// hash is Java's String.hashCode of ASCII text.
func hash(text string) int32 {
	var hash int32
	for _, c := range []byte(text) {
		hash = 31*hash + int32(c)
	}
	return hash
}
