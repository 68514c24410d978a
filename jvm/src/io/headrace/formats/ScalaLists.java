package io.headrace.formats;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Lists and maps as Spark's inside takes and gives them. */
public final class ScalaLists {
    private ScalaLists() {}

    public static <T> Seq<T> seq(List<? extends T> list) {
        return CollectionConverters.<T>asScala(new ArrayList<T>(list)).toSeq();
    }

    public static <T> Seq<T> joined(List<? extends T> first, List<? extends T> second) {
        List<T> both = new ArrayList<>(first);
        both.addAll(second);
        return seq(both);
    }

    public static <T> List<T> list(Seq<? extends T> seq) {
        return new ArrayList<>(CollectionConverters.asJava(seq));
    }

    public static scala.collection.immutable.Map<String, String> map(Map<String, String> texts) {
        return scala.collection.immutable.Map.from(CollectionConverters.asScala(texts));
    }
}
